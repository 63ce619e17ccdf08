// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace cccl_cached {

/// Work that nobody waits for, done one at a time while nothing else is compiled. Thread-safe.
class IdleJobs {
 public:
  using Job = std::function<void(std::stop_token stop)>;

  /// `idle`: whether nothing else is compiled now; asked again some times a second.
  explicit IdleJobs(std::function<bool()> idle);
  ~IdleJobs() { Stop(); }
  IdleJobs(const IdleJobs&) = delete;
  IdleJobs& operator=(const IdleJobs&) = delete;

  /// When too many wait, the one that waits longest is dropped. Does nothing once stopped.
  void Add(Job job);

  /// Stops what runs, drops what waits, and asks nobody whether anything is idle any more.
  void Stop();

 private:
  void Work(std::stop_token stop);

  const std::function<bool()> idle_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Job> jobs_;  // guarded by mutex_
  std::jthread thread_;   // last: ends before what it uses
};

}  // namespace cccl_cached
