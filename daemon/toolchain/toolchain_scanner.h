// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "daemon/core/model/compiler.h"
#include "daemon/core/model/tier.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/toolchain/capability_probe.h"
#include "daemon/toolchain/identified_toolchain.h"
#include "daemon/toolchain/identity.h"
#include "daemon/toolchain/search_places.h"

namespace cccl_cache::daemon {

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
