// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "daemon/core/model/compiler.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/tier.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/system/blocking_pool.h"
#include "daemon/toolchain/layout.h"
#include "daemon/toolchain/scanner.h"
#include "daemon/toolchain/selection.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

struct RegistryOptions {
  SearchPlaces places;
  /// The uid of the daemon. Files that others than root and this uid can write are not used.
  uid_t own_uid = 0;
  /// Time between scans that no request asked for.
  std::chrono::milliseconds rescan_interval{30'000};
  /// Least time from a scan to another one caused by a request that names something unknown. There
  /// is no such wait if files changed during the scan.
  std::chrono::milliseconds unknown_interval{1'000};
  /// Least time from a trial of an NVRTC that took too long to the next one.
  std::chrono::milliseconds probe_again{60'000};
  /// A scan that takes longer counts as hanging in a file system: its waiters are called back.
  std::chrono::milliseconds scan_time{30'000};
  /// The same limit for a comparison of one toolchain's files.
  std::chrono::milliseconds look_time{10'000};
};

/// Finds, identifies, probes and watches the toolchains of this node.
///
/// Thread-safe. Scans run at the start, then every `rescan_interval` and on request, on a thread
/// that may hang. If the kernel does not report changes of a toolchain's files, further threads
/// compare them, one thread for each toolchain. No caller reads a file or waits for a thread that
/// does, except in Unchanged, where the wait is bounded. `meta`, `compiler` and all that `report`
/// refers to must outlive the registry. `report` must not call back.
class ToolchainRegistry final : public Toolchains {
 public:
  using ReportFunction = ToolchainScanner::ReportFunction;

  ToolchainRegistry(RegistryOptions options, MetaStore& meta, Compiler& compiler,
                    ReportFunction report);
  /// Stops the registry. No other call may be in progress. A thread that hangs in a file system is
  /// left behind.
  ~ToolchainRegistry() override;
  ToolchainRegistry(const ToolchainRegistry&) = delete;
  ToolchainRegistry& operator=(const ToolchainRegistry&) = delete;

  /// Ends a running scan with its probes, calls back all waiters, and returns. There are no scans
  /// from then on; the toolchains that were known before still serve. Call it once.
  void Stop();

  /// Starts a scan and then calls `done`, once, on another thread. Calls it earlier if the scan
  /// hangs; after a stop, at once on this thread. Calls that come during a scan share the next one.
  void Rescan(std::function<void()> done);

  std::optional<Result<ToolchainPtr>> Select(const ToolchainSelector& selector,
                                             uint32_t driver_version, BuildKind kind) override;
  void WhenKnown(const ToolchainSelector& selector, uint32_t driver_version, BuildKind kind,
                 std::function<void()> done) override;
  /// Compares the object, not its id. Returns false for a toolchain that was identified again
  /// since, even if its files are what they were before.
  bool Unchanged(const Toolchain& toolchain) override;
  bool Looked() override;
  std::vector<ToolchainPtr> Present() override;
  std::vector<RejectedToolchain> Rejected() override;

 private:
  class Scans;

  /// Starts scans until told to stop.
  void Run(const std::stop_token& stop);

  const RegistryOptions options_;
  BlockingPool looks_;    ///< threads that compare files, one toolchain each
  BlockingPool scanner_;  ///< the thread that scans
  const std::shared_ptr<Scans> scans_;
  std::jthread thread_;  ///< last: its thread ends before the members that it uses
};

}  // namespace cccl_cache::daemon
