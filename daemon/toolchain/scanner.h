// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/model/compiler.h"
#include "daemon/core/model/file_checks.h"
#include "daemon/core/model/tier.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/toolchain/capability_probe.h"
#include "daemon/toolchain/identity.h"
#include "daemon/toolchain/installation.h"
#include "daemon/toolchain/layout.h"
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

/// For the log: one line for a person.
struct ToolchainReport {
  bool warning = false;
  std::string text;
};

/// What one scan found.
struct ScanResult {
  using IdentifiedPtr = std::shared_ptr<IdentifiedToolchain>;

  std::vector<IdentifiedPtr> present;     ///< newest first; equal versions in search order
  std::vector<IdentifiedPtr> duplicates;  ///< same contents as one of `present`, elsewhere
  std::vector<RejectedToolchain> rejected;
  bool unsettled = false;  ///< one was rejected whose files changed while they were looked at
};

/// Finds, identifies and probes all toolchains. What a former scan identified and did not change
/// since is taken over as it is. Not thread-safe.
class ToolchainScanner {
 public:
  using ReportFunction = std::function<void(const ToolchainReport&)>;

  struct Setup {
    SearchPlaces places;
    uid_t own_uid = 0;
    ReportFunction report;
  };

  ToolchainScanner(Setup setup, MetaStore& meta, Compiler& compiler);

  /// Means nothing once it was told to stop.
  ScanResult Scan(const ScanResult& former, const std::stop_token& stop);

 private:
  using IdentifiedPtr = ScanResult::IdentifiedPtr;

  struct Look {
    Result<IdentifiedPtr> entry;
    bool unsettled = false;  ///< none, and the files changed meanwhile
  };
  /// The former entry if it is still true; else a new one.
  Look EntryOf(const Installation& installation, const ScanResult& former,
               const std::stop_token& stop);
  Look IdentifyAnew(const Installation& installation, const std::stop_token& stop);
  Result<ToolchainPtr> Identify(const Installation& installation, const Survey& survey,
                                const std::stop_token& stop);
  void ReportChanges(const ScanResult& former, const ScanResult& now) const;
  void ReportArrival(const IdentifiedToolchain& entry) const;

  const Setup setup_;
  Identifier identifier_;
  CapabilityProbe probe_;
  uint64_t last_serial_ = 0;
};

}  // namespace cccl_cache::daemon
