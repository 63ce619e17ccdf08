// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

namespace cccl_cache {

/// How long the other end of a connection has said nothing, while something is waited for. An end
/// that lives may have nothing to say for an hour, but answers when it is asked whether it is there
/// (a PING of HTTP/2): who does not is stopped or hangs. What is to be done is told in turn: wait,
/// ask, wait as long again, give up. A value type.
class Silence {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Means { kNothingYet, kAsk, kGone };

  static constexpr std::chrono::milliseconds kLongest{5000};
  /// Shorter is what a busy machine may make of it.
  static constexpr std::chrono::milliseconds kShortest{500};

  /// `left`: to the end of the call. Given up early enough that half of it is left.
  Silence(Clock::time_point now, std::chrono::milliseconds left)
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
    return std::clamp(left / 4, kShortest, kLongest);
  }

  std::chrono::milliseconds patience_;
  Clock::time_point until_;
  bool asked_ = false;
};

}  // namespace cccl_cache
