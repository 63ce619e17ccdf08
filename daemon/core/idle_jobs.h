// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>

namespace cccl_cached {

/// Work that nobody waits for, done one at a time while nothing else is compiled, for each user in
/// turn. Thread-safe.
class IdleJobs {
 public:
  struct Bounds {
    size_t waiting_per_uid = 32;
    size_t bytes_per_uid = 32 << 20;
    size_t waiting = 256;
  };
  using Job = std::function<void(std::stop_token stop)>;

  /// `idle`: whether nothing else is compiled now; asked again some times a second.
  IdleJobs(const Bounds& bounds, std::function<bool()> idle);
  ~IdleJobs() { Stop(); }
  IdleJobs(const IdleJobs&) = delete;
  IdleJobs& operator=(const IdleJobs&) = delete;

  /// `bytes`: what the job keeps in memory. Dropped if too much waits, of this user or of all. Does
  /// nothing once stopped.
  void Add(uid_t uid, size_t bytes, Job job);

  /// Stops what runs, drops what waits, and asks nobody whether anything is idle any more.
  void Stop();

 private:
  struct Waiting {
    size_t bytes;
    Job job;
  };
  struct User {
    std::deque<Waiting> jobs;
    size_t bytes = 0;
  };

  void Work(std::stop_token stop);
  // Of the user whose turn it is; requires the lock on mutex_, and that a job waits.
  Job TakeNext();

  const Bounds bounds_;
  const std::function<bool()> idle_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<uid_t, User> users_;  // guarded by mutex_; those with jobs
  size_t waiting_ = 0;           // guarded by mutex_
  uid_t served_ = 0;             // guarded by mutex_: whose job was taken last
  std::jthread thread_;          // last: ends before what it uses
};

}  // namespace cccl_cached
