// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

#include "daemon/core/toolchain.h"
#include "daemon/toolchain/installation.h"
#include "daemon/toolchain/installation_watch.h"
#include "daemon/toolchain/survey.h"

namespace cccl_cached {

/// A toolchain with what is needed to notice that it is no longer what was identified. Thread-safe.
class IdentifiedToolchain {
 public:
  struct Parts {
    ToolchainPtr toolchain;
    Installation installation;
    Survey survey;
    std::unique_ptr<InstallationWatch> watch;  ///< made before the survey
  };

  IdentifiedToolchain(Parts parts, uid_t own_uid);

  [[nodiscard]] const ToolchainPtr& toolchain() const { return toolchain_; }
  [[nodiscard]] const Installation& installation() const { return installation_; }
  /// Whether a changed file is noticed without looking at all of them.
  [[nodiscard]] bool watched() const { return watched_; }

  /// Every change that ended before the call is seen: from the kernel's events where it gives them,
  /// else from all stamps (some milliseconds).
  [[nodiscard]] bool Changed();
  /// The same, but where other hosts may write and each stamp is a question to a server, what was
  /// found a second ago counts.
  [[nodiscard]] bool ChangedLately();
  /// Compares all stamps, whatever the events say.
  [[nodiscard]] bool StampsDiffer() const;

 private:
  const ToolchainPtr toolchain_;
  const Installation installation_;
  const cccl_cache::Digest stamps_;
  const uid_t own_uid_;
  const bool stamps_are_local_;
  const bool watched_;
  const std::unique_ptr<InstallationWatch> watch_;  ///< thread-safe

  std::mutex mutex_;
  bool changed_ = false;                               ///< guarded by mutex_
  std::chrono::steady_clock::time_point compared_at_;  ///< guarded by mutex_
};

}  // namespace cccl_cached
