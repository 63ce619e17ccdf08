// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "daemon/core/compiler.h"
#include "daemon/core/tier.h"
#include "daemon/core/toolchain.h"
#include "daemon/toolchain/search_places.h"
#include "daemon/toolchain/toolchain_scanner.h"

namespace cccl_cached {

struct RegistryOptions {
  /// Called with those present after each scan that found others than the one before: what was made
  /// of one that is gone (a zygote) can go. Same rules as for the report.
  using ChangeFunction = std::function<void(std::span<const ToolchainPtr>)>;

  SearchPlaces places;
  /// Files that others than root and this user can write are not used.
  uid_t own_uid = 0;
  /// How often installations that came without a request asking for them are looked for.
  std::chrono::milliseconds rescan_interval{30'000};
  /// How soon after a scan a request that names something unknown causes another.
  std::chrono::milliseconds unknown_interval{1'000};
  ChangeFunction on_change = [](std::span<const ToolchainPtr>) {};
};

/// Finds, identifies, probes and watches the toolchains of this node.
///
/// Thread-safe. A thread of its own scans at once and then every `rescan_interval`. Until the first
/// scan is done every method but the constructor waits for it; later only who needs what changed
/// waits for it to be identified, all others go on. `meta`, `compiler` and what `report` refers to
/// must outlive the registry. `report` is called from any thread, one call at a time, and must not
/// call back.
class ToolchainRegistry final : public Toolchains {
 public:
  using ReportFunction = ToolchainScanner::ReportFunction;

  ToolchainRegistry(RegistryOptions options, MetaStore& meta, Compiler& compiler,
                    ReportFunction report);
  /// Stops a scan that is running. No other call may be in progress.
  ~ToolchainRegistry() override;
  ToolchainRegistry(const ToolchainRegistry&) = delete;
  ToolchainRegistry& operator=(const ToolchainRegistry&) = delete;

  Result<ToolchainPtr> Select(const cccl_cache::ToolchainSelector& selector,
                              uint32_t driver_version, cccl_cache::BuildKind kind) override;
  /// Goes by the object, not by its id: false for one that has been identified anew since, even if
  /// its files are what they were again.
  bool Unchanged(const Toolchain& toolchain) override;
  std::vector<ToolchainPtr> Present() override;
  std::vector<RejectedToolchain> Rejected() override;

  /// Looks everywhere anew (SIGHUP) and returns when that is done.
  void Rescan();

 private:
  struct Snapshot {
    ScanResult found;
    std::vector<ToolchainPtr> toolchains;  ///< of found.present
    std::chrono::steady_clock::time_point taken_at;
  };
  using SnapshotPtr = std::shared_ptr<const Snapshot>;

  /// The last scan's; waits for the first.
  SnapshotPtr Current();
  /// A scan later than `seen`: somebody else's if there was one meanwhile.
  SnapshotPtr ScanAfter(const SnapshotPtr& seen);
  /// Requires scan_mutex_.
  SnapshotPtr ScanNow(const SnapshotPtr& former);
  void ScanRegularly(const std::stop_token& stop);

  const RegistryOptions options_;
  std::stop_source stop_;  ///< thread-safe; ends scans that callers wait for too

  std::mutex scan_mutex_;     ///< taken before mutex_
  ToolchainScanner scanner_;  ///< guarded by scan_mutex_

  std::mutex mutex_;
  std::condition_variable_any scanned_;
  SnapshotPtr snapshot_;  ///< guarded by mutex_; null before the first scan

  std::jthread thread_;  ///< last: ends before what it uses
};

}  // namespace cccl_cached
