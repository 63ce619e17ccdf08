// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "daemon/compile/worker_compiler.h"
#include "daemon/core/lookup/eviction_log.h"
#include "daemon/core/model/statistics.h"
#include "daemon/core/model/tier.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/process/log.h"

namespace cccl_cache::daemon {

/// Work beside the builds, on a thread of its own. Loads the default toolchain ahead of its first
/// job, and ends the zygotes of toolchains that are gone. Keeps the counters and the last evictions
/// over a restart, also after a kill. Reports problems that limit the daemon. Everything handed in
/// must outlive it.
class Housekeeping {
 public:
  struct Parts {
    Toolchains& toolchains;
    WorkerCompiler& compiler;
    MetaStore& meta;
    Statistics& statistics;
    EvictionLog& eviction_log;
    Log& log;
    /// Returns why the store can't be written just now; empty: it can.
    std::function<std::string()> store_problem;
    /// Returns why no leases are granted; empty: they are. May wait for the disk.
    std::function<std::string()> lease_problem;
    /// Called with the problem at the start and then once a second; empty: there is none. Runs on
    /// the constructor's thread and on the thread of its own.
    std::function<void(std::string)> tell_problem;
    std::function<void()> look_at_shelves;  ///< called every ten seconds; returns at once
  };

  /// Loads the counters and the evictions as the last daemon left them.
  explicit Housekeeping(Parts parts);
  /// Writes counters and evictions one last time.
  ~Housekeeping();
  Housekeeping(const Housekeeping&) = delete;
  Housekeeping& operator=(const Housekeeping&) = delete;

 private:
  void Run(std::stop_token stop);
  void WarmDefaultToolchain();
  void KeepCounters();
  void KeepEvictionLog();
  [[nodiscard]] std::string Problem();
  /// Returns recent errors that no client can cause, or an empty string.
  [[nodiscard]] std::string RecentErrors(bool store_failed);

  const Parts parts_;
  // Values as last written; used by one thread at a time.
  std::string kept_;             ///< the counters
  uint64_t kept_evictions_ = 0;  ///< number of evictions noted by then
  // State of RecentErrors; used by the thread alone.
  uint64_t errors_ = 0;  ///< counted so far
  std::optional<std::chrono::steady_clock::time_point> last_error_;
  bool store_failed_ = false;  ///< as of a second ago

  Mutex mutex_;
  CondVar stopped_;
  std::jthread thread_;
};

}  // namespace cccl_cache::daemon
