// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>

#include "base/mutex.h"
#include "base/token_bucket.h"

namespace cccl_cache::daemon {

/// Bounds on a user's connections that follow from the daemon's other limits.
struct TrafficLimits {
  /// The longest message in bytes that may be announced: twice message_limit, and at least this
  /// default. So a client whose message is a little too large gets gRPC's error for it.
  uint64_t message_bytes = 32ull << 20;
  /// Calls that were opened and whose answers were not sent, cancelled ones that are not paid off,
  /// and those of connections that gRPC is still ending. Calls are counted here before the service
  /// sees them. So the limit is the user's limit on calls in flight plus the calls of four
  /// connections, and a client with too many calls gets an error for each.
  size_t open_calls = 8'192;
  /// Connections that may arrive at once: somewhat more than a user may have.
  uint32_t connections_at_once = 1'100;
};

/// Counts for all connections of one user together, because each alone may stay within its bounds.
/// Thread-safe.
class UserTraffic {
 public:
  using Clock = TokenBucket::Clock;

  /// The first connection of a uid takes 0.24 ms of the thread that accepts, a further one 0.16 ms.
  static constexpr uint32_t kMaxConnectionsPerSecond = 1'000;
  /// gRPC holds some 12 KB of a call that was cancelled before its turn, by RST_STREAM or by the
  /// end of its connection. The limit is the default number of calls in flight of a user.
  static constexpr uint32_t kMaxCancelledAtOnce = 4'096;
  static constexpr uint32_t kMaxCancelledPerSecond = 2'000;
  /// DATA frames beyond those that FrameRules grants a call, such as the heartbeats of leases.
  static constexpr uint32_t kMaxSmallAtOnce = 4'096;
  static constexpr uint32_t kMaxSmallPerSecond = 500;

  UserTraffic(const TrafficLimits& limits, Clock::time_point now)
      : limits_(limits),
        connections_(limits.connections_at_once, kMaxConnectionsPerSecond, now),
        cancelled_(kMaxCancelledAtOnce, kMaxCancelledPerSecond, now),
        small_(kMaxSmallAtOnce, kMaxSmallPerSecond, now) {}

  [[nodiscard]] const TrafficLimits& limits() const { return limits_; }

  /// Each of these counts one event, and returns false if there are too many.
  [[nodiscard]] bool Connect(Clock::time_point now);
  [[nodiscard]] bool CancelCall(Clock::time_point now) {
    return Take(&UserTraffic::cancelled_, now);
  }
  [[nodiscard]] bool SendSmallFrame(Clock::time_point now) {
    return Take(&UserTraffic::small_, now);
  }
  /// Counts a call; after true, CloseCall or DropCalls must be called for it in the end. gRPC and
  /// the service hold 12 to 17 KB of each call whose answer is not sent, and free it only some time
  /// after the call was cancelled. So cancelled calls count as open until they are paid off.
  [[nodiscard]] bool OpenCall(Clock::time_point now);
  void CloseCall();
  /// Drops the calls of a connection that ended before their answers were sent. Each counts as
  /// cancelled, however many there are, and as open until ReleaseCalls.
  void DropCalls(size_t calls, Clock::time_point now);
  /// Counts a call that was received after its connection had ended as such a call. Returns false
  /// if there are too many.
  [[nodiscard]] bool DropLateCall(Clock::time_point now);
  /// Records that gRPC has freed so many dropped calls.
  void ReleaseCalls(size_t calls);

 private:
  [[nodiscard]] bool Take(TokenBucket UserTraffic::*bucket, Clock::time_point now) {
    const MutexLock lock(mutex_);
    return (this->*bucket).Take(now);
  }
  /// Returns whether there is room for one more call.
  [[nodiscard]] bool HasRoom(Clock::time_point now) REQUIRES(mutex_);

  const TrafficLimits limits_;
  Mutex mutex_;
  TokenBucket connections_ GUARDED_BY(mutex_);
  TokenBucket cancelled_ GUARDED_BY(mutex_);
  TokenBucket small_ GUARDED_BY(mutex_);
  size_t open_calls_ GUARDED_BY(mutex_) = 0;
  size_t dropped_calls_ GUARDED_BY(mutex_) = 0;  ///< and not released
};

/// Splits the bytes of one side of an HTTP/2 connection into frame headers and payloads.
class FrameReader {
 public:
  /// `preface`: number of bytes before the first frame header, which are the payload of no frame.
  explicit FrameReader(uint64_t preface) : left_(preface) {}

  /// Takes the next piece from `bytes`, which must not be empty: the rest of the payload, or else
  /// of the next frame header. Returns the piece of the payload.
  std::span<const uint8_t> Take(std::span<const uint8_t>& bytes);
  /// Returns whether the last Take completed a frame header. The values below are of that frame.
  [[nodiscard]] bool at_head() const { return at_head_; }
  [[nodiscard]] uint32_t size() const;
  [[nodiscard]] uint8_t type() const { return head_[3]; }
  [[nodiscard]] uint8_t flags() const { return head_[4]; }
  [[nodiscard]] uint32_t stream() const;

 private:
  static constexpr size_t kHeadBytes = 9;

  uint64_t left_;  ///< bytes left of the payload
  std::array<uint8_t, kHeadBytes> head_{0, 0, 0, 0xff};
  size_t in_head_ = 0;
  bool at_head_ = false;
};

/// A rule about the frames of a client.
struct FrameRule {
  const char* text;  ///< for people: the violation, as text that follows "it sent"
  /// Whether the user has to pause if the rule is broken repeatedly. False for what may happen to
  /// an honest client, because a message is too large or because of the user's other connections.
  bool is_attack = true;
};

/// Follows the HTTP/2 frames of one connection and names the first rule that its client breaks. The
/// rules bound the memory and work of gRPC that no other count covers. Reads the headers of frames
/// and of gRPC's messages, and skips all else. Not thread-safe.
class FrameRules {
 public:
  using Clock = TokenBucket::Clock;

  /// SETTINGS_MAX_FRAME_SIZE as gRPC announces it.
  static constexpr uint32_t kMaxFrameBytes = 16 << 10;
  /// A header block as sent: HEADERS and all of its CONTINUATION frames. gRPC itself refuses more
  /// than 8 KiB of header fields, but only once the block is complete.
  static constexpr uint32_t kMaxBlockBytes = 16 << 10;
  /// Cheap frames cost a client next to nothing and the server work or memory. They are RST_STREAM,
  /// PING, SETTINGS, PRIORITY, GOAWAY, CONTINUATION, empty DATA, unknown types, and header blocks
  /// and small DATA frames of no open call. Large DATA frames of no open call are not cheap:
  /// clients send them before they know that their call was answered, and gRPC keeps none.
  static constexpr uint32_t kMaxCheapAtOnce = 2'000;
  static constexpr uint32_t kMaxCheapPerSecond = 500;
  /// Calls whose answers were not sent. gRPC announces 1,024 (MAX_CONCURRENT_STREAMS), but counts
  /// only those that it has not answered yet.
  static constexpr size_t kMaxOpenCalls = 2'048;
  /// gRPC holds at least 32 bytes for each DATA frame until its message is read. So a frame costs
  /// its call as much as 64 bytes of payload earn. Each frame that the server sends for the call
  /// earns two frames and its own length. Earnings have an upper bound, because messages that were
  /// read long ago do not justify small frames now.
  static constexpr uint64_t kFrameCost = 64;
  static constexpr uint64_t kEarnedByAnswer = 2 * kFrameCost;
  static constexpr uint64_t kEarnedAtFirst = 64 * kFrameCost;
  static constexpr uint64_t kMaxEarned = 256 * kFrameCost;
  /// Clients measure the latency by PING (grpc-go sends one for each answer that it reads). So each
  /// frame that the server sends for a call allows one PING, up to this many.
  static constexpr uint32_t kMaxPings = 64;

  /// `of_user`: the traffic of all connections of the client's user.
  FrameRules(std::shared_ptr<UserTraffic> of_user, Clock::time_point now)
      : of_user_(std::move(of_user)), cheap_(kMaxCheapAtOnce, kMaxCheapPerSecond, now) {}
  ~FrameRules();
  FrameRules(const FrameRules&) = delete;
  FrameRules& operator=(const FrameRules&) = delete;

  /// Takes the next bytes that the client sent, split anywhere. Returns the rule that they break,
  /// or null. After a broken rule the results mean nothing.
  [[nodiscard]] const FrameRule* Received(std::span<const uint8_t> bytes, Clock::time_point now);
  /// Takes the next bytes that were sent to the client, split anywhere.
  void Sent(std::span<const uint8_t> bytes);
  /// Ends the connection: its calls are dropped. So is each call that is received later, which gRPC
  /// still reads.
  void End(Clock::time_point now);
  /// Records that gRPC has freed all calls of the connection, which has ended. The destructor does
  /// the same.
  void Release();

 private:
  static constexpr uint64_t kPrefaceBytes = 24;

  /// One open call and the state of its incoming messages.
  struct Call {
    uint32_t stream;
    uint64_t earned = kEarnedAtFirst;
    unsigned prefix = 0;      ///< bytes received of the next message's prefix
    uint64_t announced = 0;   ///< message length that these announce
    uint64_t of_message = 0;  ///< bytes left until the next message's prefix
  };

  [[nodiscard]] const FrameRule* TakeHead(Clock::time_point now);
  [[nodiscard]] const FrameRule* TakeData(std::span<const uint8_t> payload);
  [[nodiscard]] const FrameRule* OpenCall(Clock::time_point now);
  [[nodiscard]] const FrameRule* CountData(Clock::time_point now);
  [[nodiscard]] bool IsCheap();
  using Calls = std::deque<Call>;
  /// Returns the open call of this stream, or the end of calls_.
  [[nodiscard]] Calls::iterator FindCall(uint32_t stream);
  void CloseCall(uint32_t stream);

  const std::shared_ptr<UserTraffic> of_user_;
  TokenBucket cheap_;
  FrameReader received_{kPrefaceBytes};
  FrameReader sent_{0};
  uint32_t block_bytes_ = 0;
  bool in_block_ = false;
  uint32_t pings_ = 0;  ///< PINGs still allowed for answers
  bool ended_ = false;
  size_t dropped_ = 0;        ///< calls dropped and not released
  uint32_t last_stream_ = 0;  ///< the highest stream that the client opened
  /// Opened and not answered; in the order of their streams. A deque, because it frees the memory
  /// of calls that were closed.
  Calls calls_;
};

}  // namespace cccl_cache::daemon
