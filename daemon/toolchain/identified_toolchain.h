// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "daemon/core/model/file_checks.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/toolchain/installation.h"
#include "daemon/toolchain/installation_watch.h"
#include "daemon/toolchain/stamp_comparison.h"
#include "daemon/toolchain/survey.h"

namespace cccl_cache::daemon {

/// A toolchain with what is needed to notice that it is no longer what was identified. Thread-safe.
class IdentifiedToolchain {
 public:
  struct Parts {
    ToolchainPtr toolchain;
    Installation installation;
    Survey survey;
    std::unique_ptr<InstallationWatch> watch;  ///< made before the survey
  };
  using Verdict = StampComparison::Verdict;

  IdentifiedToolchain(Parts parts, uid_t own_uid);

  [[nodiscard]] const ToolchainPtr& toolchain() const { return toolchain_; }
  [[nodiscard]] const Installation& installation() const { return installation_; }
  /// Whether a changed file is noticed without looking at all of them.
  [[nodiscard]] bool watched() const { return watched_; }

  /// What is known without looking at a file. Where the kernel's events tell, every change that
  /// ended before the call; else what the last comparison found, which `threads` repeat while
  /// somebody asks.
  [[nodiscard]] Verdict Known(FileChecks& threads);
  /// Calls `done` once Known says what is so at this moment: at once, or after a comparison of all
  /// files on one of the threads (StampComparison::Begin).
  void Look(FileChecks& threads, std::function<void()> done);
  /// Whether the kernel told of a change; looks at no file.
  [[nodiscard]] bool NotedChange() { return watch_->Changed(); }
  /// Looks at all files on this thread, whatever the events say.
  [[nodiscard]] bool StampsDiffer();

 private:
  const ToolchainPtr toolchain_;
  const Installation installation_;
  const bool watched_;
  const std::unique_ptr<InstallationWatch> watch_;  ///< thread-safe
  const std::shared_ptr<StampComparison> comparison_;
};

}  // namespace cccl_cache::daemon
