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
#include "daemon/core/model/hourly_counts.h"
#include "daemon/core/model/statistics.h"
#include "daemon/core/model/tier.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/process/log.h"

namespace cccl_cache::daemon {

/// The daemon's background work, on its own thread. It first loads the default toolchain, so that
/// the first job need not wait for that. Then it regularly ends the zygotes of removed toolchains,
/// stores the counters, their growth by hour, and the last evictions, so that they survive a
/// restart or a crash, and reports problems of the daemon. The parts must outlive it.
class Housekeeping {
 public:
  struct Parts {
    Toolchains& toolchains;
    WorkerCompiler& compiler;
    MetaStore& meta;
    Statistics& statistics;
    HourlyCounts& hours;
    EvictionLog& eviction_log;
    Log& log;
    /// Returns why the store can't be written now. Empty if it can be written.
    std::function<std::string()> store_problem;
    /// Returns why no leases are granted. Empty if leases are granted. May wait for the disk.
    std::function<std::string()> lease_problem;
    /// Called with the daemon's current problem, at the start and then once a second. The text is
    /// empty if there is no problem. Called on the thread of the constructor, then on the thread of
    /// this object.
    std::function<void(std::string)> tell_problem;
    std::function<void()> look_at_shelves;  ///< called every ten seconds; must return at once
  };

  /// Loads the counters, hours and evictions that the last run stored.
  explicit Housekeeping(Parts parts);
  /// Stores counters, hours and evictions a last time.
  ~Housekeeping();
  Housekeeping(const Housekeeping&) = delete;
  Housekeeping& operator=(const Housekeeping&) = delete;

 private:
  void Run(std::stop_token stop);
  void WarmDefaultToolchain();
  void KeepCounters();
  void NoteHour();
  void KeepHours();
  void KeepEvictionLog();
  [[nodiscard]] std::string Problem();
  /// Returns a text about recent errors that no client can cause. Empty if there are none.
  /// `store_failed`: whether the store can't be written now.
  [[nodiscard]] std::string RecentErrors(bool store_failed);

  const Parts parts_;
  // The values that were stored last. The threads of constructor, Run() and destructor use them,
  // one after the other.
  std::string kept_;             ///< the counters
  std::string kept_hours_;       ///< the counts by hour
  uint64_t kept_evictions_ = 0;  ///< number of evictions stored
  // State of RecentErrors; used by its own thread only.
  uint64_t errors_ = 0;  ///< errors counted so far
  std::optional<std::chrono::steady_clock::time_point> last_error_;
  bool store_failed_ = false;  ///< the argument of the last call of RecentErrors

  Mutex mutex_;
  CondVar stopped_;
  std::jthread thread_;
};

}  // namespace cccl_cache::daemon
