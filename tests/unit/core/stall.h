// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "tests/unit/core/fakes.h"

namespace cccl_cache::daemon::testing {

/// A disk that hangs until End(). Thread-safe.
class Stall {
 public:
  /// A read of the disk: waits for End().
  void Enter() {
    std::unique_lock lock(mutex_);
    ++entered_;
    changed_.notify_all();
    changed_.wait_for(lock, kPatience, [this] { return over_; });
  }
  bool WaitUntilEntered(size_t reads) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return entered_ >= reads; });
  }
  [[nodiscard]] size_t entered() {
    const std::lock_guard lock(mutex_);
    return entered_;
  }
  void End() {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t entered_ = 0;  // guarded by mutex_
  bool over_ = false;   // guarded by mutex_
};

}  // namespace cccl_cache::daemon::testing
