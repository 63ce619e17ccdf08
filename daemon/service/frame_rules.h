// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "daemon/core/token_bucket.h"

namespace cccl_cached {

/// RST_STREAM frames of all connections of one user: gRPC holds some 12 KB of a call that was
/// cancelled before its turn came, and reads from many connections first. Thread-safe.
class Cancellations {
 public:
  /// As many as a user has calls in flight by default.
  static constexpr uint32_t kMaxAtOnce = 4'096;
  static constexpr uint32_t kMaxPerSecond = 2'000;

  explicit Cancellations(TokenBucket::Clock::time_point now)
      : bucket_(kMaxAtOnce, kMaxPerSecond, now) {}
  [[nodiscard]] bool Take(TokenBucket::Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    return bucket_.Take(now);
  }

 private:
  std::mutex mutex_;
  TokenBucket bucket_;  // guarded by mutex_
};

/// Follows the HTTP/2 frames that one client sends and names the first rule that they break: the
/// rules bound what gRPC holds, and does, before a call exists that could be counted. Reads the
/// nine bytes of each frame's head; payloads are skipped. Not thread-safe.
class FrameRules {
 public:
  using Clock = TokenBucket::Clock;

  /// SETTINGS_MAX_FRAME_SIZE as gRPC announces it.
  static constexpr uint32_t kMaxFrameBytes = 16 << 10;
  /// A header block as sent: HEADERS and all of its CONTINUATION frames. gRPC itself refuses more
  /// than 8 KiB of header fields, but only once the block is complete.
  static constexpr uint32_t kMaxBlockBytes = 16 << 10;
  /// Cheap frames are those that cost a client next to nothing and the server work or memory:
  /// RST_STREAM, PING, SETTINGS, PRIORITY, GOAWAY, CONTINUATION, empty DATA, unknown types.
  static constexpr uint32_t kMaxCheapAtOnce = 2'000;
  static constexpr uint32_t kMaxCheapPerSecond = 500;

  /// `of_user`: of all connections of the client's user.
  FrameRules(std::shared_ptr<Cancellations> of_user, Clock::time_point now)
      : of_user_(std::move(of_user)), cheap_(kMaxCheapAtOnce, kMaxCheapPerSecond, now) {}

  /// Takes the next bytes of the connection, cut anywhere. Returns the rule that they break, for
  /// people; null: none. After that its answers mean nothing.
  [[nodiscard]] const char* Take(std::span<const uint8_t> bytes, Clock::time_point now);

 private:
  static constexpr uint64_t kPrefaceBytes = 24;
  static constexpr size_t kHeadBytes = 9;

  [[nodiscard]] const char* TakeHead(Clock::time_point now);

  const std::shared_ptr<Cancellations> of_user_;
  TokenBucket cheap_;
  uint64_t skip_ = kPrefaceBytes;  ///< bytes until the next frame's head
  std::array<uint8_t, kHeadBytes> head_{};
  size_t in_head_ = 0;
  uint32_t block_bytes_ = 0;
  bool in_block_ = false;
};

}  // namespace cccl_cached
