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
  /// Files that users other than root and this one can write are not used.
  uid_t own_uid = 0;
  /// Time between scans that no request caused.
  std::chrono::milliseconds rescan_interval{30'000};
  /// Shortest time from a scan to the next one caused by a request with an unknown toolchain. If
  /// files changed during the scan, the next one starts at once.
  std::chrono::milliseconds unknown_interval{1'000};
  /// Shortest time from a probe of an NVRTC that took too long to the next one.
  std::chrono::milliseconds probe_again{60'000};
  /// A scan that takes longer counts as hung in a file system: its waiters are called back.
  std::chrono::milliseconds scan_time{30'000};
  /// The same limit for comparing one toolchain's files.
  std::chrono::milliseconds look_time{10'000};
};

/// Finds, identifies, probes and watches the toolchains of this node.
///
/// Thread-safe. Scans run at the start, then every `rescan_interval` and on request, on a thread
/// that may hang. If the kernel does not report changes of a toolchain's files, more threads
/// compare them, one per toolchain. Callers never read files and never wait for such a thread,
/// except in Unchanged, whose wait is bounded. `meta`, `compiler` and everything that `report` uses
/// must outlive the registry. `report` must not call back.
class ToolchainRegistry final : public Toolchains {
 public:
  using ReportFunction = ToolchainScanner::ReportFunction;

  ToolchainRegistry(RegistryOptions options, MetaStore& meta, Compiler& compiler,
                    ReportFunction report);
  /// Stops the registry. No other call may be in progress. A thread that hangs in a file system is
  /// abandoned.
  ~ToolchainRegistry() override;
  ToolchainRegistry(const ToolchainRegistry&) = delete;
  ToolchainRegistry& operator=(const ToolchainRegistry&) = delete;

  /// Ends a running scan with its probes, calls all waiters back, and returns. No scan starts after
  /// it; toolchains known before still serve. Call it once.
  void Stop();

  /// Starts a scan and calls `done` once after it, on another thread; earlier if the scan hangs;
  /// after a stop, at once on this thread. Calls during a scan share the next scan.
  void Rescan(std::function<void()> done);

  std::optional<Result<ToolchainPtr>> Select(const ToolchainSelector& selector,
                                             uint32_t driver_version, BuildKind kind) override;
  void WhenKnown(const ToolchainSelector& selector, uint32_t driver_version, BuildKind kind,
                 std::function<void()> done) override;
  /// Compares the object, not its id: returns false for a toolchain that was identified again
  /// since, even if its files have the same contents.
  bool Unchanged(const Toolchain& toolchain) override;
  bool Looked() override;
  std::vector<ToolchainPtr> Present() override;
  std::vector<RejectedToolchain> Rejected() override;

 private:
  class Scans;

  const RegistryOptions options_;
  BlockingPool looks_;  ///< threads that compare files, one toolchain each
  const std::shared_ptr<Scans> scans_;
  std::jthread thread_;  ///< last member: its thread uses the others
};

}  // namespace cccl_cache::daemon
