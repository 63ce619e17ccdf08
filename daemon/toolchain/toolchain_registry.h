// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
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
  SearchPlaces places;
  /// Files that others than root and this user can write are not used.
  uid_t own_uid = 0;
  /// How often installations that came without a request asking for them are looked for.
  std::chrono::milliseconds rescan_interval{30'000};
  /// How soon after a scan a request that names something unknown causes another; at once if files
  /// changed during that one.
  std::chrono::milliseconds unknown_interval{1'000};
};

/// Finds, identifies, probes and watches the toolchains of this node.
///
/// Thread-safe. A thread of its own scans at once, then every `rescan_interval` and when asked to;
/// nobody else reads a file or starts a probe. `meta`, `compiler` and what `report` refers to must
/// outlive the registry. `report` is called from that thread and must not call back.
class ToolchainRegistry final : public Toolchains {
 public:
  using ReportFunction = ToolchainScanner::ReportFunction;

  ToolchainRegistry(RegistryOptions options, MetaStore& meta, Compiler& compiler,
                    ReportFunction report);
  /// Stops. No other call may be in progress.
  ~ToolchainRegistry() override;
  ToolchainRegistry(const ToolchainRegistry&) = delete;
  ToolchainRegistry& operator=(const ToolchainRegistry&) = delete;

  /// Ends a scan that is running, with what it probes, calls back those who wait for one, and
  /// returns. From then on nothing is looked for: what was known before still serves. Once.
  void Stop();

  std::optional<Result<ToolchainPtr>> Select(const cccl_cache::ToolchainSelector& selector,
                                             uint32_t driver_version,
                                             cccl_cache::BuildKind kind) override;
  /// Those who ask during a scan share the next one.
  void Rescan(std::function<void()> done) override;
  /// Goes by the object, not by its id: false for one that has been identified anew since, even if
  /// its files are what they were again.
  bool Unchanged(const Toolchain& toolchain) override;
  bool Looked() override;
  std::vector<ToolchainPtr> Present() override;
  std::vector<RejectedToolchain> Rejected() override;

 private:
  struct Snapshot {
    ScanResult found;
    std::vector<ToolchainPtr> toolchains;  ///< of found.present
    std::chrono::steady_clock::time_point taken_at;
  };
  using SnapshotPtr = std::shared_ptr<const Snapshot>;
  using Waiting = std::vector<std::function<void()>>;

  /// The last scan's; null before the first is done.
  SnapshotPtr Current();
  /// Waits for the first scan; without toolchains if it was stopped.
  SnapshotPtr FirstOrCurrent();
  bool Stopped();

  // On the thread:
  void Run(const std::stop_token& stop);
  /// A scan that was stopped leaves everything as it was.
  void Scan(const std::stop_token& stop);
  Waiting TakeWaiting();

  const RegistryOptions options_;
  ToolchainScanner scanner_;  ///< used by the thread alone

  std::mutex mutex_;
  std::condition_variable_any changed_;
  SnapshotPtr snapshot_;  ///< guarded by mutex_; null before the first scan
  Waiting waiting_;       ///< guarded by mutex_; for a scan that has not begun
  bool stopped_ = false;  ///< guarded by mutex_; nobody waits any more

  std::jthread thread_;  ///< last: ends before what it uses
};

}  // namespace cccl_cached
