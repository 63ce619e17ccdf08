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
  /// The user id of this process. A file is not used if a user other than root and this one can
  /// write it.
  uid_t own_uid = 0;
  /// The daemon scans for toolchains this often even if no request asks for a scan.
  std::chrono::milliseconds rescan_interval{30'000};
  /// Shortest time between two scans that are caused by requests for unknown toolchains. If a
  /// toolchain's files changed during the last scan, such a request starts a new scan at once.
  std::chrono::milliseconds unknown_interval{1'000};
  /// If the probe of an NVRTC timed out, the next probe of this NVRTC starts after this time at the
  /// earliest.
  std::chrono::milliseconds probe_again{60'000};
  /// If a scan takes longer, the registry assumes that a file system hangs, and calls the callers
  /// that wait for the scan back.
  std::chrono::milliseconds scan_time{30'000};
  /// The same limit for the comparison of one toolchain's files with their recorded stamps.
  std::chrono::milliseconds look_time{10'000};
};

/// Finds the toolchains of this machine, computes their ids, probes their compilers and detects
/// changes of their files. A scan for toolchains runs at the start, every `rescan_interval`, and on
/// request. It has a thread of its own, because a file system may hang. For toolchains whose
/// changes the kernel does not report, further threads compare the files; each toolchain has one
/// thread at a time. Callers never read files. Only Unchanged waits for a comparison, for a limited
/// time.
///
/// Thread-safe. `meta`, `compiler` and all objects that `report` uses must outlive the registry.
/// `report` must not call the registry.
class ToolchainRegistry final : public Toolchains {
 public:
  using ReportFunction = ToolchainScanner::ReportFunction;

  ToolchainRegistry(RegistryOptions options, MetaStore& meta, Compiler& compiler,
                    ReportFunction report);
  /// Calls Stop() if that has not been done. No other call may be in progress. A thread that hangs
  /// in a file system is not waited for.
  ~ToolchainRegistry() override;
  ToolchainRegistry(const ToolchainRegistry&) = delete;
  ToolchainRegistry& operator=(const ToolchainRegistry&) = delete;

  /// Cancels a running scan and its probes, calls back all callers that wait, and returns.
  /// Afterwards no scan starts, but Select still returns the toolchains of the last scan. Call it
  /// once.
  void Stop();

  /// Starts a scan and calls `done` once after it, on another thread. If a scan runs already,
  /// starts another one after it. If the scan hangs, calls `done` when it has taken `scan_time`. If
  /// a scan hangs already, or after Stop(), calls `done` at once, on this thread.
  void Rescan(std::function<void()> done);

  std::optional<Result<ToolchainPtr>> Select(const ToolchainSelector& selector,
                                             uint32_t driver_version, BuildKind kind) override;
  void WhenKnown(const ToolchainSelector& selector, uint32_t driver_version, BuildKind kind,
                 std::function<void()> done) override;
  /// Returns false also if the registry has replaced this Toolchain object by another one since,
  /// even if the files of both have the same contents.
  bool Unchanged(const Toolchain& toolchain) override;
  bool Looked() override;
  std::vector<ToolchainPtr> Present() override;
  std::vector<RejectedToolchain> Rejected() override;

 private:
  class Scans;

  const RegistryOptions options_;
  BlockingPool looks_;  ///< threads that compare the files of toolchains; one thread per toolchain
  const std::shared_ptr<Scans> scans_;
  std::jthread thread_;  ///< last member, because its thread uses the other members
};

}  // namespace cccl_cache::daemon
