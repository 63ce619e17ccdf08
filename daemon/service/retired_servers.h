// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace cccl_cache::daemon {

/// Ends servers in a thread of its own, in the order of their coming: the end of one waits for the
/// last of its calls, and nobody else is to wait for that. Thread-safe.
class RetiredServers {
 public:
  RetiredServers();
  /// Waits for all.
  ~RetiredServers();
  RetiredServers(const RetiredServers&) = delete;
  RetiredServers& operator=(const RetiredServers&) = delete;

  /// A server of whatever kind, which nobody else holds.
  void Add(std::shared_ptr<void> server);
  /// Those whose end has not come.
  [[nodiscard]] size_t Count() const;
  /// Returns when the last one has ended.
  void WaitForAll();

 private:
  void Run();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;                       // guarded by mutex_
  std::deque<std::shared_ptr<void>> servers_;  // guarded by mutex_; the first one is ending
  std::thread thread_;
};

}  // namespace cccl_cache::daemon
