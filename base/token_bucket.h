// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

namespace cccl_cache {

/// Rate limiter that allows a burst and a number of events per second. Not thread-safe.
class TokenBucket {
 public:
  using Clock = std::chrono::steady_clock;

  TokenBucket(double at_once, double per_second, Clock::time_point now)
      : at_once_(at_once), per_second_(per_second), left_(at_once), refilled_(now) {}

  /// Returns whether one more event is allowed at `now`, and counts it. `now` must not decrease
  /// from call to call.
  [[nodiscard]] bool Take(Clock::time_point now) {
    if (!HasAny(now)) return false;
    left_ -= 1;
    return true;
  }
  /// Counts `count` events, even if they exceed the limit. No further event is allowed until the
  /// bucket has refilled.
  void Charge(double count, Clock::time_point now) {
    Refill(now);
    left_ -= count;
  }
  [[nodiscard]] bool HasAny(Clock::time_point now) {
    Refill(now);
    return left_ >= 1;
  }
  /// Returns the number of counted events for which the bucket has not refilled yet.
  [[nodiscard]] double Owed(Clock::time_point now) {
    Refill(now);
    return at_once_ - left_;
  }

 private:
  void Refill(Clock::time_point now) {
    const std::chrono::duration<double> passed = now - refilled_;
    refilled_ = now;
    left_ = std::min(at_once_, left_ + passed.count() * per_second_);
  }

  const double at_once_;
  const double per_second_;
  double left_;
  Clock::time_point refilled_;
};

}  // namespace cccl_cache
