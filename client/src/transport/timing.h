// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace cccl_cache {

/// The moment at which a call gives up. A value type.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  static Deadline After(std::chrono::milliseconds timeout) {
    return Deadline(Clock::now() + timeout);
  }

  static Deadline At(Clock::time_point moment) { return Deadline(moment); }

  [[nodiscard]] std::chrono::milliseconds Remaining() const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(moment_ - Clock::now());
    return std::max(left, std::chrono::milliseconds{0});
  }
  [[nodiscard]] Clock::time_point moment() const { return moment_; }
  [[nodiscard]] bool Passed() const { return Clock::now() >= moment_; }
  /// For poll(2).
  [[nodiscard]] int PollTimeout() const {
    return static_cast<int>(std::min<int64_t>(Remaining().count(), INT_MAX));
  }
  /// The earlier one is the lesser.
  bool operator<(const Deadline& other) const { return moment_ < other.moment_; }

 private:
  explicit Deadline(Clock::time_point moment) : moment_(moment) {}

  Clock::time_point moment_;
};

/// When to ask the daemon again, and for how many builds at once: what it says itself where it has
/// too many or is stopping; where it is gone, after pauses that double, for as long as it may take
/// to restart. A value type.
class Backoff {
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
    pause_ = std::min(pause_ * 2, kMaxPause);
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
  static constexpr std::chrono::milliseconds kMaxPause{320};
  static constexpr size_t kNoBound = std::numeric_limits<size_t>::max();

  void PauseUntil(Moment moment) { next_ = next_ ? std::max(*next_, moment) : moment; }

  std::optional<Moment> answered_;
  std::optional<Moment> until_;  ///< it is to be back; none: as far as is known it is there
  std::optional<Moment> next_;
  std::chrono::milliseconds pause_ = kShortestPause;
  size_t most_ = kNoBound;
};

/// How long the other end of a connection has said nothing, while something is waited for. An end
/// that lives may have nothing to say for an hour, but answers when it is asked whether it is there
/// (a PING of HTTP/2): who does not is stopped or hangs. What is to be done is told in turn: wait,
/// ask, wait as long again, give up. A value type.
class KeepAlive {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Means { kNothingYet, kAsk, kGone };

  static constexpr std::chrono::milliseconds kMax{5000};
  /// Shorter is what a busy machine may make of it.
  static constexpr std::chrono::milliseconds kShortest{500};

  /// `left`: to the end of the call. Given up early enough that half of it is left.
  KeepAlive(Clock::time_point now, std::chrono::milliseconds left)
      : patience_(PatienceFor(left)), until_(now + patience_) {}

  /// The call waits from now on for something that has to come within `left`, too.
  void Hurry(Clock::time_point now, std::chrono::milliseconds left) {
    patience_ = std::min(patience_, PatienceFor(left));
    until_ = std::min(until_, now + patience_);
  }

  /// Something was said.
  void Broken(Clock::time_point now) {
    asked_ = false;
    until_ = now + patience_;
  }
  /// Nothing is to be done before.
  [[nodiscard]] Clock::time_point until() const { return until_; }
  [[nodiscard]] Means At(Clock::time_point now) {
    if (now < until_) return Means::kNothingYet;
    if (asked_) return Means::kGone;
    asked_ = true;
    // From now on, however late that is: this process itself may have been stopped.
    until_ = now + patience_;
    return Means::kAsk;
  }

 private:
  static std::chrono::milliseconds PatienceFor(std::chrono::milliseconds left) {
    return std::clamp(left / 4, kShortest, kMax);
  }

  std::chrono::milliseconds patience_;
  Clock::time_point until_;
  bool asked_ = false;
};

/// How long a daemon that kept a caller waiting in vain is left alone: 0.1 s, twice as long each
/// time in a row, 30 s at the most. Callers that were kept waiting together are one time: what
/// fails while the circuit is open began before that. Thread-safe and without a lock, so that a
/// child forked at any moment can use it.
class CircuitBreaker {
 public:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] bool Resting(Clock::time_point now) const { return Count(now) < until_; }
  /// `waited`: what that cost. The pause is no shorter, so that no more than half of a program's
  /// time is lost to a daemon that hangs.
  void Failed(Clock::time_point now, Clock::duration waited) {
    int64_t until = until_;
    if (Count(now) < until) return;
    const int64_t cost = std::chrono::ceil<std::chrono::milliseconds>(waited).count();
    const int64_t pause = std::min(std::max(pause_.load(), cost), kMax);
    // Of those that fail at the same moment, one begins the pause.
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
  static constexpr int64_t kMax = 30'000;

  std::atomic<int64_t> until_{0};  ///< milliseconds of the clock
  std::atomic<int64_t> pause_{kShortest};
};

}  // namespace cccl_cache
