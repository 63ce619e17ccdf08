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

/// The time at which a call stops waiting and fails. A value type.
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
  /// Returns the remaining time in milliseconds, as the timeout argument of poll(2).
  [[nodiscard]] int PollTimeout() const {
    return static_cast<int>(std::min<int64_t>(Remaining().count(), INT_MAX));
  }
  /// Orders deadlines by time: the earlier one is less.
  bool operator<(const Deadline& other) const { return moment_ < other.moment_; }

 private:
  explicit Deadline(Clock::time_point moment) : moment_(moment) {}

  Clock::time_point moment_;
};

/// Computes when to retry after a failure, and how many builds may be in progress at once. If the
/// daemon is overloaded or stopping, it sends the retry time. While no daemon answers, the pauses
/// between retries double, until 10 s after the first failure, the time that a restart may take. A
/// value type.
class Backoff {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  /// Call it when the daemon has answered a request.
  void Answered(Moment now) {
    answered_ = now;
    until_.reset();
    pause_ = kShortestPause;
    if (most_ < kNoBound) ++most_;
  }
  /// Call it when the daemon has answered that the client must retry after the time `by`.
  void Postponed(Moment now, std::chrono::milliseconds by) {
    answered_ = now;
    PauseUntil(now + by);
  }
  /// Call it when the daemon has refused a build because of overload. `asked` is the number of this
  /// client's builds in progress, which becomes the limit.
  void Full(size_t asked) { most_ = std::max<size_t>(asked, 1); }
  /// Call it when the connection was lost or refused, or when no daemon listens. Returns false if
  /// this has lasted for 10 s, so that the caller gives up.
  bool Missed(Moment now) {
    if (!until_) until_ = now + kPatience;
    if (now >= *until_) return false;
    PauseUntil(now + pause_);
    pause_ = std::min(pause_ * 2, kMaxPause);
    return true;
  }

  /// Returns whether the daemon answered within the last 10 s, or its absence is still being waited
  /// out. A daemon that restarts is such a case.
  [[nodiscard]] bool was_there(Moment now) const {
    return until_ || (answered_ && now < *answered_ + kPatience);
  }
  /// Returns the time of the next retry, or none if it can be sent at once.
  [[nodiscard]] const std::optional<Moment>& next() const { return next_; }
  [[nodiscard]] bool waiting(Moment now) const { return next_ && now < *next_; }
  /// Returns the largest number of builds that may be in progress at once.
  [[nodiscard]] size_t most() const { return most_; }

 private:
  static constexpr std::chrono::seconds kPatience{10};
  static constexpr std::chrono::milliseconds kShortestPause{10};
  static constexpr std::chrono::milliseconds kMaxPause{320};
  static constexpr size_t kNoBound = std::numeric_limits<size_t>::max();

  void PauseUntil(Moment moment) { next_ = next_ ? std::max(*next_, moment) : moment; }

  std::optional<Moment> answered_;
  std::optional<Moment> until_;  ///< time to give up on an absent daemon; none if it is present
  std::optional<Moment> next_;
  std::chrono::milliseconds pause_ = kShortestPause;
  size_t most_ = kNoBound;
};

/// Keep-alive timer of a connection that waits for a reply. A live server may send no data for an
/// hour, but it answers an HTTP/2 PING. A server that does not answer is stopped or hangs. At()
/// returns the next step: wait, send a PING, wait for the same time again, give up. A value type.
class KeepAlive {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Means { kNothingYet, kAsk, kGone };

  static constexpr std::chrono::milliseconds kMax{5000};
  /// The shortest wait. A live server on a busy machine may take almost this long to answer.
  static constexpr std::chrono::milliseconds kShortest{500};

  /// `left` is the time until the end of the call. Each of the two waits lasts a quarter of `left`,
  /// so that the timer gives up while half of it remains, but at least kShortest and at most
  /// `most`.
  KeepAlive(Clock::time_point now, std::chrono::milliseconds left,
            std::chrono::milliseconds most = kMax)
      : patience_(std::min(PatienceFor(left), most)), until_(now + patience_) {}

  /// Shortens the waits, because the call now also carries an answer that is due within `left`.
  void Hurry(Clock::time_point now, std::chrono::milliseconds left) {
    patience_ = std::min(patience_, PatienceFor(left));
    until_ = std::min(until_, now + patience_);
  }

  /// Call it when the server has sent bytes, which prove that it lives.
  void Broken(Clock::time_point now) {
    asked_ = false;
    until_ = now + patience_;
  }
  /// Returns the moment of the next step.
  [[nodiscard]] Clock::time_point until() const { return until_; }
  [[nodiscard]] Means At(Clock::time_point now) {
    if (now < until_) return Means::kNothingYet;
    if (asked_) return Means::kGone;
    asked_ = true;
    // The second wait begins now, not at the end of the first one: this process may have been
    // stopped in between, and the server needs the whole wait to answer.
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

/// Circuit breaker: after a failed call, the daemon gets no calls during a pause. The first pause
/// is 0.1 s. Each successive failure doubles the pause, up to 30 s. Calls that fail during a pause
/// do not lengthen it, because they began before it. Thread-safe and lock-free, so that a forked
/// child can use it at any time.
class CircuitBreaker {
 public:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] bool Resting(Clock::time_point now) const { return Count(now) < until_; }
  /// Call it when the daemon did not answer. `waited` is the time for which the caller waited. The
  /// pause is at least as long (up to 30 s), so that a program loses at most half of its time to a
  /// daemon that hangs.
  void Failed(Clock::time_point now, Clock::duration waited) {
    int64_t until = until_;
    if (Count(now) < until) return;
    const int64_t cost = std::chrono::ceil<std::chrono::milliseconds>(waited).count();
    const int64_t pause = std::min(std::max(pause_.load(), cost), kMax);
    // If several threads fail at the same time, only one of them begins the pause.
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

  std::atomic<int64_t> until_{0};  ///< end of the pause, in milliseconds of the steady clock
  std::atomic<int64_t> pause_{kShortest};
};

}  // namespace cccl_cache
