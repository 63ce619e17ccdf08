// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/model/compiler.h"
#include "daemon/core/model/tier.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/system/blocking_pool.h"
#include "daemon/toolchain/capability_probe.h"
#include "daemon/toolchain/identity.h"
#include "daemon/toolchain/installation.h"
#include "daemon/toolchain/layout.h"
#include "daemon/toolchain/survey.h"

namespace cccl_cache::daemon {

/// A toolchain, and the means to notice changes of its files since it was identified. Thread-safe.
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
  /// Returns whether the kernel reports changes, so that the files need not be compared.
  [[nodiscard]] bool watched() const { return watched_; }

  /// Returns the verdict without reading a file. If the kernel reports changes, it includes every
  /// change that ended before the call. Otherwise it is the result of the last comparison; while
  /// there are callers, `threads` repeat it.
  [[nodiscard]] Verdict Known(BlockingPool& threads);
  /// Calls `done` once Known has a current result: at once, or after a comparison of all files on
  /// one of the threads (StampComparison::Begin).
  void Look(BlockingPool& threads, std::function<void()> done);
  /// Returns whether the kernel reported a change; reads no file.
  [[nodiscard]] bool NotedChange() { return watch_->Changed(); }
  /// Compares the stamps of all files on this thread, even without events.
  [[nodiscard]] bool StampsDiffer();

 private:
  const ToolchainPtr toolchain_;
  const Installation installation_;
  const bool watched_;
  const std::unique_ptr<InstallationWatch> watch_;  ///< thread-safe
  const std::shared_ptr<StampComparison> comparison_;
};

/// One line for the log.
struct ToolchainReport {
  bool warning = false;
  std::string text;
};

/// The result of one scan.
struct ScanResult {
  using IdentifiedPtr = std::shared_ptr<IdentifiedToolchain>;

  std::vector<IdentifiedPtr> present;     ///< newest first; equal versions in search order
  std::vector<IdentifiedPtr> duplicates;  ///< same contents as an entry of `present`, in another
                                          ///< place
  std::vector<RejectedToolchain> rejected;
  bool unsettled = false;  ///< a toolchain was rejected because its files changed during the scan
};

/// Finds, identifies and probes all toolchains. Reuses the entries of the former scan that did not
/// change. Not thread-safe.
class ToolchainScanner {
 public:
  using ReportFunction = std::function<void(const ToolchainReport&)>;

  struct Setup {
    SearchPlaces places;
    uid_t own_uid = 0;
    ReportFunction report;
    std::chrono::milliseconds probe_again;  ///< as in CapabilityProbe
  };

  ToolchainScanner(Setup setup, MetaStore& meta, Compiler& compiler);

  /// Must not be used if `stop` was requested.
  ScanResult Scan(const ScanResult& former, const std::stop_token& stop);

 private:
  using IdentifiedPtr = ScanResult::IdentifiedPtr;

  struct Look {
    Result<IdentifiedPtr> entry;
    bool unsettled = false;  ///< no entry, because the files changed during the scan
  };
  /// Returns the former entry if it is still valid, else a new one.
  Look EntryOf(const Installation& installation, const ScanResult& former,
               const std::stop_token& stop);
  Look IdentifyAgain(const Installation& installation, const std::stop_token& stop);
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
