// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "daemon/core/model/token_bucket.h"

namespace cccl_cache::daemon {

/// Bounds of what a user's connections do that follow from the daemon's other limits.
struct TrafficLimits {
  /// The longest message that may be announced: twice message_limit, and not less than here, so
  /// that a client whose message is a little too large is told so by gRPC.
  uint64_t message_bytes = 32ull << 20;
  /// Calls that were opened and whose answers were not sent: what a user may have in flight, so
  /// that a client with too many is told so for each, and four connections more, for calls are
  /// counted here before the service sees them.
  size_t open_calls = 8'192;
  /// Connections that may come at once: somewhat more than a user may have.
  uint32_t connections_at_once = 1'100;
};

/// Counts for all connections of one user together, for each alone may keep within its bounds.
/// Thread-safe.
class UserTraffic {
 public:
  using Clock = TokenBucket::Clock;

  /// The first connection of a uid takes 0.24 ms of the thread that accepts, a further one 0.16 ms.
  static constexpr uint32_t kMaxConnectionsPerSecond = 1'000;
  /// gRPC holds some 12 KB of a call that was cancelled before its turn came, by RST_STREAM or by
  /// the end of its connection. As many as a user has calls in flight by default.
  static constexpr uint32_t kMaxCancelledAtOnce = 4'096;
  static constexpr uint32_t kMaxCancelledPerSecond = 2'000;
  /// DATA frames beyond those that FrameRules grants a call; the heartbeats of leases are such.
  static constexpr uint32_t kMaxSmallAtOnce = 4'096;
  static constexpr uint32_t kMaxSmallPerSecond = 500;

  UserTraffic(const TrafficLimits& limits, Clock::time_point now)
      : limits_(limits),
        connections_(limits.connections_at_once, kMaxConnectionsPerSecond, now),
        cancelled_(kMaxCancelledAtOnce, kMaxCancelledPerSecond, now),
        small_(kMaxSmallAtOnce, kMaxSmallPerSecond, now) {}

  [[nodiscard]] const TrafficLimits& limits() const { return limits_; }

  /// These count one of its kind, and return false if there are too many.
  [[nodiscard]] bool Connect(Clock::time_point now);
  [[nodiscard]] bool CancelCall(Clock::time_point now) { return Take(cancelled_, now); }
  [[nodiscard]] bool SendSmallFrame(Clock::time_point now) { return Take(small_, now); }
  /// If true, CloseCall or DropCalls is called for it in the end. gRPC and the service hold some
  /// 60 KB of each call whose answer is not sent.
  [[nodiscard]] bool OpenCall();
  void CloseCall();
  /// The same for the calls of a connection that ended before their answers were sent: each counts
  /// as cancelled, however many there are.
  void DropCalls(size_t calls, Clock::time_point now);

 private:
  [[nodiscard]] bool Take(TokenBucket& bucket, Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    return bucket.Take(now);
  }

  const TrafficLimits limits_;
  std::mutex mutex_;
  TokenBucket connections_;  // guarded by mutex_
  TokenBucket cancelled_;    // guarded by mutex_
  TokenBucket small_;        // guarded by mutex_
  size_t open_calls_ = 0;    // guarded by mutex_
};

}  // namespace cccl_cache::daemon
