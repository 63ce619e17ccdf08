// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "daemon/core/model/token_bucket.h"
#include "daemon/service/transport/user_traffic.h"

namespace cccl_cache::daemon {

/// Cuts what one side of an HTTP/2 connection sends into heads of frames and payloads.
class FrameReader {
 public:
  /// `preface`: bytes before the first head, which count as the payload of no frame.
  explicit FrameReader(uint64_t preface) : left_(preface) {}

  /// Takes the next piece from `bytes`, which are not empty: what there is of the payload, or else
  /// of the next head. Returns the piece of the payload.
  std::span<const uint8_t> Take(std::span<const uint8_t>& bytes);
  /// Whether the last Take completed a head: of this frame.
  [[nodiscard]] bool at_head() const { return at_head_; }
  [[nodiscard]] uint32_t size() const;
  [[nodiscard]] uint8_t type() const { return head_[3]; }
  [[nodiscard]] uint8_t flags() const { return head_[4]; }
  [[nodiscard]] uint32_t stream() const;

 private:
  static constexpr size_t kHeadBytes = 9;

  uint64_t left_;  ///< of the payload
  std::array<uint8_t, kHeadBytes> head_{0, 0, 0, 0xff};
  size_t in_head_ = 0;
  bool at_head_ = false;
};

/// A rule about the frames of a client.
struct FrameRule {
  const char* text;  ///< for people: the breach, after "it sent"
  /// Whether its user has to pause if that happens again and again: not for what may happen to an
  /// honest client, because a message is too large or because of the user's other connections.
  bool is_attack = true;
};

/// Follows the HTTP/2 frames of one connection and names the first rule that its client breaks: the
/// rules bound what gRPC holds, and does, for what no other count sees. Reads heads of frames and
/// of gRPC's messages; all else is skipped. Not thread-safe.
class FrameRules {
 public:
  using Clock = TokenBucket::Clock;

  /// SETTINGS_MAX_FRAME_SIZE as gRPC announces it.
  static constexpr uint32_t kMaxFrameBytes = 16 << 10;
  /// A header block as sent: HEADERS and all of its CONTINUATION frames. gRPC itself refuses more
  /// than 8 KiB of header fields, but only once the block is complete.
  static constexpr uint32_t kMaxBlockBytes = 16 << 10;
  /// Cheap frames are those that cost a client next to nothing and the server work or memory:
  /// RST_STREAM, PING, SETTINGS, PRIORITY, GOAWAY, CONTINUATION, empty DATA, unknown types, and
  /// header blocks and small DATA frames of no open call. Large ones are sent by clients that do
  /// not know yet that their call was answered, and gRPC keeps none.
  static constexpr uint32_t kMaxCheapAtOnce = 2'000;
  static constexpr uint32_t kMaxCheapPerSecond = 500;
  /// Calls whose answers were not sent. gRPC announces 1,024 (MAX_CONCURRENT_STREAMS) and counts
  /// those alone that it has not answered yet.
  static constexpr size_t kMaxOpenCalls = 2'048;
  /// gRPC holds 32 bytes and more for each DATA frame until its message is read, so a frame costs a
  /// call as much as 64 bytes in it earn. Each frame that the server sends for the call earns two
  /// frames and its own length. Earnings are kept up to a bound: messages that were read long ago
  /// are no reason for small frames now.
  static constexpr uint64_t kFrameCost = 64;
  static constexpr uint64_t kEarnedByAnswer = 2 * kFrameCost;
  static constexpr uint64_t kEarnedAtFirst = 64 * kFrameCost;
  static constexpr uint64_t kMostEarned = 256 * kFrameCost;
  /// Clients measure by PING how fast answers come (grpc-go: one for each that it reads), so each
  /// frame that the server sends for a call allows for one, up to so many.
  static constexpr uint32_t kMaxPings = 64;

  /// `of_user`: of all connections of the client's user.
  FrameRules(std::shared_ptr<UserTraffic> of_user, Clock::time_point now)
      : of_user_(std::move(of_user)), cheap_(kMaxCheapAtOnce, kMaxCheapPerSecond, now) {}
  ~FrameRules();
  FrameRules(const FrameRules&) = delete;
  FrameRules& operator=(const FrameRules&) = delete;

  /// Takes the next bytes that the client sent, cut anywhere. Returns the rule that they break;
  /// null: none. After that its answers mean nothing.
  [[nodiscard]] const FrameRule* Received(std::span<const uint8_t> bytes, Clock::time_point now);
  /// Takes the next bytes that were sent to the client, cut anywhere.
  void Sent(std::span<const uint8_t> bytes);
  /// The connection is over: its calls count as cancelled. So does each one that is received from
  /// here on, which gRPC still reads.
  void End(Clock::time_point now);

 private:
  static constexpr uint64_t kPrefaceBytes = 24;

  /// One call, as far as its messages were received.
  struct Call {
    uint32_t stream;
    uint64_t earned = kEarnedAtFirst;
    unsigned prefix = 0;      ///< bytes of the next message's prefix that were received
    uint64_t announced = 0;   ///< by these
    uint64_t of_message = 0;  ///< bytes until the next message's prefix
  };

  [[nodiscard]] const FrameRule* TakeHead(Clock::time_point now);
  [[nodiscard]] const FrameRule* TakeData(std::span<const uint8_t> payload);
  [[nodiscard]] const FrameRule* OpenCall(Clock::time_point now);
  [[nodiscard]] const FrameRule* CountData(Clock::time_point now);
  [[nodiscard]] bool IsCheap();
  /// Returns the open call of this stream, or null.
  [[nodiscard]] Call* FindCall(uint32_t stream);
  void CloseCall(uint32_t stream);

  const std::shared_ptr<UserTraffic> of_user_;
  TokenBucket cheap_;
  FrameReader received_{kPrefaceBytes};
  FrameReader sent_{0};
  uint32_t block_bytes_ = 0;
  bool in_block_ = false;
  uint32_t pings_ = 0;  ///< that are allowed for answers
  bool ended_ = false;
  uint32_t last_stream_ = 0;  ///< the highest that the client opened
  std::vector<Call> calls_;   ///< opened, not answered; in the order of their streams
};

}  // namespace cccl_cache::daemon
