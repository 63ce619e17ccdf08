// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <optional>

namespace cccl_cache {

/// When to ask the daemon again, and for how many builds at once: what it says itself where it has
/// too many or is stopping; where it is gone, after pauses that double, for as long as it may take
/// to restart. A value type.
class Pace {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  /// It is there.
  void Answered(Moment now) {
    answered_ = now;
    until_.reset();
    pause_ = kShortestPause;
    if (most_ < kNoBound) ++most_;
  }
  /// It is there, and wants to be asked again then.
  void Postponed(Moment now, std::chrono::milliseconds by) {
    answered_ = now;
    PauseUntil(now + by);
  }
  /// It has so many builds of ours, and no room for more.
  void Full(size_t asked) { most_ = std::max<size_t>(asked, 1); }
  /// Its connection was lost or refused, or nobody listens. False: it has been so for too long.
  bool Missed(Moment now) {
    if (!until_) until_ = now + kPatience;
    if (now >= *until_) return false;
    PauseUntil(now + pause_);
    pause_ = std::min(pause_ * 2, kLongestPause);
    return true;
  }

  /// Whether it may be about to come back if nobody listens.
  [[nodiscard]] bool was_there(Moment now) const {
    return until_ || (answered_ && now < *answered_ + kPatience);
  }
  /// Before then there is no use in asking; none: there is.
  [[nodiscard]] const std::optional<Moment>& next() const { return next_; }
  [[nodiscard]] bool waiting(Moment now) const { return next_ && now < *next_; }
  /// It is not asked for more builds at once.
  [[nodiscard]] size_t most() const { return most_; }

 private:
  static constexpr std::chrono::seconds kPatience{10};
  static constexpr std::chrono::milliseconds kShortestPause{10};
  static constexpr std::chrono::milliseconds kLongestPause{320};
  static constexpr size_t kNoBound = std::numeric_limits<size_t>::max();

  void PauseUntil(Moment moment) { next_ = next_ ? std::max(*next_, moment) : moment; }

  std::optional<Moment> answered_;
  std::optional<Moment> until_;  ///< it is to be back; none: as far as is known it is there
  std::optional<Moment> next_;
  std::chrono::milliseconds pause_ = kShortestPause;
  size_t most_ = kNoBound;
};

}  // namespace cccl_cache
