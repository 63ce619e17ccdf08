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
#include "daemon/core/model/file_checks.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/tier.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/toolchain/layout.h"
#include "daemon/toolchain/scanner.h"
#include "daemon/toolchain/selection.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

struct RegistryOptions {
  SearchPlaces places;
  /// Files that others than root and this user can write are not used.
  uid_t own_uid = 0;
  /// How often installations that came without a request asking for them are looked for.
  std::chrono::milliseconds rescan_interval{30'000};
  /// How soon after a scan a request that names something unknown causes another; at once if files
  /// changed during that one.
  std::chrono::milliseconds unknown_interval{1'000};
  /// A scan that takes longer hangs in a file system: nobody waits for it any more.
  std::chrono::milliseconds scan_time{30'000};
  /// The same of a look at one toolchain's files.
  std::chrono::milliseconds look_time{10'000};
};

/// Finds, identifies, probes and watches the toolchains of this node.
///
/// Thread-safe. Scans happen at once, then every `rescan_interval` and when asked for, on a thread
/// that may hang; so do looks at the files of toolchains whose changes the kernel does not tell,
/// one thread for each. No caller reads a file or waits for one that does, but for Unchanged, and
/// that for a bounded time. `meta`, `compiler` and what `report` refers to must outlive the
/// registry. `report` must not call back.
class ToolchainRegistry final : public Toolchains {
 public:
  using ReportFunction = ToolchainScanner::ReportFunction;

  ToolchainRegistry(RegistryOptions options, MetaStore& meta, Compiler& compiler,
                    ReportFunction report);
  /// Stops. No other call may be in progress. A thread that hangs in a file system is left behind.
  ~ToolchainRegistry() override;
  ToolchainRegistry(const ToolchainRegistry&) = delete;
  ToolchainRegistry& operator=(const ToolchainRegistry&) = delete;

  /// Ends a scan that is running, with what it probes, calls back those who wait for one, and
  /// returns. From then on nothing is looked for: what was known before still serves. Once.
  void Stop();

  /// Looks at everything anew and then calls `done`, once, on another thread; earlier, if the scan
  /// hangs; after a stop, at once on this one. Calls that come during a scan share the next one.
  void Rescan(std::function<void()> done);

  std::optional<Result<ToolchainPtr>> Select(const ToolchainSelector& selector,
                                             uint32_t driver_version, BuildKind kind) override;
  void WhenKnown(const ToolchainSelector& selector, uint32_t driver_version, BuildKind kind,
                 std::function<void()> done) override;
  /// Goes by the object, not by its id: false for one that has been identified anew since, even if
  /// its files are what they were again.
  bool Unchanged(const Toolchain& toolchain) override;
  bool Looked() override;
  std::vector<ToolchainPtr> Present() override;
  std::vector<RejectedToolchain> Rejected() override;

 private:
  class Scans;

  /// Orders scans until told to stop.
  void Run(const std::stop_token& stop);

  const RegistryOptions options_;
  FileChecks looks_;    ///< threads that compare the files of one toolchain each
  FileChecks scanner_;  ///< the thread that scans
  const std::shared_ptr<Scans> scans_;
  std::jthread thread_;  ///< last: ends before what it uses
};

}  // namespace cccl_cache::daemon
