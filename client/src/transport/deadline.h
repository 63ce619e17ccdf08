// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <climits>

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

}  // namespace cccl_cache
