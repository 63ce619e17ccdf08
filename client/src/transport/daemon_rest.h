// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace cccl_cache {

/// How long a daemon that kept a caller waiting in vain is left alone: 0.1 s, twice as long each
/// time in a row, 30 s at the most. Callers that were kept waiting together are one time: what
/// fails during a rest began before it. Thread-safe and without a lock, so that a child forked at
/// any moment can use it.
class DaemonRest {
 public:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] bool Resting(Clock::time_point now) const { return Count(now) < until_; }
  /// `waited`: what that cost. The rest is no shorter, so that no more than half of a program's
  /// time is lost to a daemon that hangs.
  void Failed(Clock::time_point now, Clock::duration waited) {
    int64_t until = until_;
    if (Count(now) < until) return;
    const int64_t cost = std::chrono::ceil<std::chrono::milliseconds>(waited).count();
    const int64_t pause = std::min(std::max(pause_.load(), cost), kLongest);
    // Of those that fail at the same moment, one begins the rest.
    if (until_.compare_exchange_strong(until, Count(now) + pause)) pause_ = pause * 2;
  }
  void Answered() {
    until_ = 0;
    pause_ = kShortest;
  }

 private:
  static int64_t Count(Clock::time_point moment) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(moment.time_since_epoch()).count();
  }

  static constexpr int64_t kShortest = 100;
  static constexpr int64_t kLongest = 30'000;

  std::atomic<int64_t> until_{0};  ///< milliseconds of the clock
  std::atomic<int64_t> pause_{kShortest};
};

}  // namespace cccl_cache
