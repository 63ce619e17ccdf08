// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "daemon/core/model/account.h"

namespace cccl_cache::daemon {

/// Compiles that nobody waits for, done on slots that callers leave free, for each user in turn.
/// One that is in a caller's way is stopped, and begins again later. Thread-safe.
class IdleJobs {
 public:
  struct Bounds {
    size_t slots = 1;  ///< of callers and jobs together
    size_t waiting_per_uid = 64;
    size_t bytes_per_uid = 32 << 20;
    size_t waiting = 256;
  };
  /// Runs again, from its beginning, if it was stopped for a caller.
  using Job = std::function<void(std::stop_token stop)>;

  /// `busy`: how many compiles of callers run or wait now; asked again some times a second.
  IdleJobs(const Bounds& bounds, std::function<size_t()> busy);
  ~IdleJobs() { Stop(); }
  IdleJobs(const IdleJobs&) = delete;
  IdleJobs& operator=(const IdleJobs&) = delete;

  /// `bytes`: what the job keeps in memory. False: too much waits, of this user or of all, and the
  /// job was dropped.
  bool Add(Account account, size_t bytes, Job job);

  /// Stops jobs on slots that callers want now.
  void MakeRoom();

  /// Stops what runs, drops what waits, and asks no more how many callers there are.
  void Stop();

 private:
  struct Waiting {
    Account account;
    size_t bytes;
    Job job;
  };
  struct User {
    std::deque<Waiting> jobs;
    size_t bytes = 0;
  };

  void Work(std::stop_token stop);
  // Those below require the lock on mutex_. Of the user whose turn it is; a job must wait.
  Waiting TakeNext();
  void PutBack(Waiting job);
  bool HasRoom() const { return running_.size() + busy_() < bounds_.slots; }

  const Bounds bounds_;
  const std::function<size_t()> busy_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<Account, User> users_;        // guarded by mutex_; those with jobs
  size_t waiting_ = 0;                   // guarded by mutex_
  Account served_{0};                    // guarded by mutex_: whose job was taken last
  std::list<std::stop_source> running_;  // guarded by mutex_; the newest last
  std::vector<std::jthread> threads_;    // last: end before what they use
};

}  // namespace cccl_cache::daemon
