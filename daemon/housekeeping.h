// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "daemon/compile/worker_compiler.h"
#include "daemon/core/lookup/eviction_log.h"
#include "daemon/core/model/statistics.h"
#include "daemon/core/model/tier.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/process/log.h"

namespace cccl_cache::daemon {

/// What is done beside the builds, on a thread of its own: loads the default toolchain ahead of its
/// first job, ends the zygotes of toolchains that are gone, keeps the counters and the last
/// evictions over a restart, also after a kill, and tells what keeps the daemon from all that it
/// is for. Everything handed in must outlive it.
class Housekeeping {
 public:
  struct Parts {
    Toolchains& toolchains;
    WorkerCompiler& compiler;
    MetaStore& meta;
    Statistics& statistics;
    EvictionLog& eviction_log;
    Log& log;
    /// Why the store can't be written just now; empty: it can.
    std::function<std::string()> store_problem;
    std::string lease_problem;  ///< why no leases are granted; empty: they are
    /// Told at the start and then once a second; empty: there is no problem. Called by the
    /// constructor and on the thread.
    std::function<void(std::string)> tell_problem;
  };

  /// Takes the counters and the evictions up where the last daemon left them.
  explicit Housekeeping(Parts parts);
  /// Keeps both one last time.
  ~Housekeeping();
  Housekeeping(const Housekeeping&) = delete;
  Housekeeping& operator=(const Housekeeping&) = delete;

 private:
  void Run(std::stop_token stop);
  void WarmDefaultToolchain();
  void KeepCounters();
  void KeepEvictionLog();
  [[nodiscard]] std::string Problem();
  /// Errors that no client can cause, if there was one lately.
  [[nodiscard]] std::string RecentErrors(bool store_failed);

  const Parts parts_;
  // As they were written last; used by one thread at a time.
  std::string kept_;             ///< the counters
  uint64_t kept_evictions_ = 0;  ///< how many were noted by then
  // Of RecentErrors; the thread's own.
  uint64_t errors_ = 0;  ///< counted so far
  std::optional<std::chrono::steady_clock::time_point> last_error_;
  bool store_failed_ = false;  ///< a second ago

  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread thread_;
};

}  // namespace cccl_cache::daemon
