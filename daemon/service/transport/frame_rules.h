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

/// Bounds of a user's connections that follow from the daemon's other limits.
struct TrafficLimits {
  /// The longest announced message in bytes: twice message_limit, and at least this default. A
  /// client whose message is a little too large thus gets gRPC's own error.
  uint64_t message_bytes = 32ull << 20;
  /// Calls that were opened and not answered, cancelled calls that are not paid off, and calls of
  /// connections that gRPC is still ending. Calls count here before the service sees them. The
  /// limit is therefore the user's limit of calls in flight plus the calls of four connections, so
  /// that a client with too many calls gets an error for each.
  size_t open_calls = 8'192;
  /// Connections that may arrive at once: somewhat more than the limit of a user.
  uint32_t connections_at_once = 1'100;
};

/// Counts over all connections of one user, because each single connection may stay within its
/// bounds. Thread-safe.
class UserTraffic {
 public:
  using Clock = TokenBucket::Clock;

  /// The first connection of a uid takes 0.24 ms of the accepting thread, each further one 0.16 ms.
  static constexpr uint32_t kMaxConnectionsPerSecond = 1'000;
  /// gRPC holds some 12 KB for a call that was cancelled before its turn, by RST_STREAM or by the
  /// end of its connection. The limit is the default number of calls in flight of a user.
  static constexpr uint32_t kMaxCancelledAtOnce = 4'096;
  static constexpr uint32_t kMaxCancelledPerSecond = 2'000;
  /// DATA frames in addition to those that FrameRules grants a call, such as heartbeats of leases.
  static constexpr uint32_t kMaxSmallAtOnce = 4'096;
  static constexpr uint32_t kMaxSmallPerSecond = 500;

  UserTraffic(const TrafficLimits& limits, Clock::time_point now)
      : limits_(limits),
        connections_(limits.connections_at_once, kMaxConnectionsPerSecond, now),
        cancelled_(kMaxCancelledAtOnce, kMaxCancelledPerSecond, now),
        small_(kMaxSmallAtOnce, kMaxSmallPerSecond, now) {}

  [[nodiscard]] const TrafficLimits& limits() const { return limits_; }

  /// These functions count one event, and return false if there are too many.
  [[nodiscard]] bool Connect(Clock::time_point now);
  [[nodiscard]] bool CancelCall(Clock::time_point now) {
    return Take(&UserTraffic::cancelled_, now);
  }
  [[nodiscard]] bool SendSmallFrame(Clock::time_point now) {
    return Take(&UserTraffic::small_, now);
  }
  /// Counts a call. After true, CloseCall or DropCalls must follow. gRPC and the service hold 12 to
  /// 17 KB for each unanswered call, and free it only some time after its cancellation. A cancelled
  /// call thus counts as open until it is paid off.
  [[nodiscard]] bool OpenCall(Clock::time_point now);
  void CloseCall();
  /// Drops the unanswered calls of an ended connection. Each counts as cancelled, without a limit
  /// of their number, and as open until ReleaseCalls.
  void DropCalls(size_t calls, Clock::time_point now);
  /// Counts a call that arrived after the end of its connection as dropped. Returns false if there
  /// are too many.
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
  size_t dropped_calls_ GUARDED_BY(mutex_) = 0;  ///< dropped and not released
};

/// Splits the bytes of one side of an HTTP/2 connection into frame headers and payloads.
class FrameReader {
 public:
  /// `preface` is the number of bytes before the first frame header. They belong to no frame.
  explicit FrameReader(uint64_t preface) : left_(preface) {}

  /// Takes the next piece of `bytes`, which must not be empty: the rest of the payload, or else of
  /// the next frame header. Returns the piece of the payload.
  std::span<const uint8_t> Take(std::span<const uint8_t>& bytes);
  /// Returns whether the last Take has completed a frame header. The values below are of that
  /// frame.
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

/// A rule for the frames of a client.
struct FrameRule {
  const char* text;  ///< the violation, as the text after "it sent"
  /// Whether a user that breaks the rule repeatedly must pause. False for violations of honest
  /// clients, because of a large message or of the user's other connections.
  bool is_attack = true;
};

/// Follows the HTTP/2 frames of one connection and returns the first rule that its client breaks.
/// The rules bound the memory and work of gRPC that no other count covers. Reads the headers of
/// frames and of gRPC's messages, and skips all other bytes. Not thread-safe.
class FrameRules {
 public:
  using Clock = TokenBucket::Clock;

  /// SETTINGS_MAX_FRAME_SIZE as announced by gRPC.
  static constexpr uint32_t kMaxFrameBytes = 16 << 10;
  /// An encoded header block: HEADERS and all its CONTINUATION frames. gRPC itself refuses more
  /// than 8 KiB of header fields, but only after the block is complete.
  static constexpr uint32_t kMaxBlockBytes = 16 << 10;
  /// Cheap frames cost a client almost nothing, and cost the server work or memory. They are
  /// RST_STREAM, PING, SETTINGS, PRIORITY, GOAWAY, CONTINUATION, empty DATA, unknown types, and
  /// header blocks and small DATA frames of no open call. Large DATA frames of no open call are not
  /// cheap: clients send them before they know that their call was answered, and gRPC keeps none of
  /// them.
  static constexpr uint32_t kMaxCheapAtOnce = 2'000;
  static constexpr uint32_t kMaxCheapPerSecond = 500;
  /// Unanswered calls. gRPC announces 1,024 (MAX_CONCURRENT_STREAMS), but does not count calls that
  /// it has answered.
  static constexpr size_t kMaxOpenCalls = 2'048;
  /// gRPC holds at least 32 bytes for each DATA frame until its message is read. A frame thus costs
  /// its call as much as 64 bytes of payload earn. Each frame that the server sends for the call
  /// earns two frames and its own length. Earnings have an upper bound, because messages that were
  /// read long ago do not justify small frames now.
  static constexpr uint64_t kFrameCost = 64;
  static constexpr uint64_t kEarnedByAnswer = 2 * kFrameCost;
  static constexpr uint64_t kEarnedAtFirst = 64 * kFrameCost;
  static constexpr uint64_t kMaxEarned = 256 * kFrameCost;
  /// Clients measure the latency by PING; grpc-go sends one for each answer that it reads. Each
  /// frame that the server sends for a call thus allows one PING, up to this many.
  static constexpr uint32_t kMaxPings = 64;

  /// `of_user` is the traffic of all connections of the client's user.
  FrameRules(std::shared_ptr<UserTraffic> of_user, Clock::time_point now)
      : of_user_(std::move(of_user)), cheap_(kMaxCheapAtOnce, kMaxCheapPerSecond, now) {}
  ~FrameRules();
  FrameRules(const FrameRules&) = delete;
  FrameRules& operator=(const FrameRules&) = delete;

  /// Takes the next bytes from the client, split at any place. Returns the rule that they break, or
  /// null. The results after a broken rule are undefined.
  [[nodiscard]] const FrameRule* Received(std::span<const uint8_t> bytes, Clock::time_point now);
  /// Takes the next bytes to the client, split at any place.
  void Sent(std::span<const uint8_t> bytes);
  /// Ends the connection and drops its calls. Later calls of it, which gRPC still reads, are
  /// dropped too.
  void End(Clock::time_point now);
  /// Records that gRPC has freed all calls of the ended connection. The destructor does the same.
  void Release();

 private:
  static constexpr uint64_t kPrefaceBytes = 24;

  /// One open call and the state of its incoming messages.
  struct Call {
    uint32_t stream;
    uint64_t earned = kEarnedAtFirst;
    unsigned prefix = 0;      ///< received bytes of the next message's prefix
    uint64_t announced = 0;   ///< length of the message that the prefix announces
    uint64_t of_message = 0;  ///< bytes left of the message
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
  uint32_t pings_ = 0;  ///< PINGs that answers still allow
  bool ended_ = false;
  size_t dropped_ = 0;        ///< dropped and not released calls
  uint32_t last_stream_ = 0;  ///< the highest stream of the client
  /// The open calls in the order of their streams. A deque, because it frees the memory of closed
  /// calls.
  Calls calls_;
};

}  // namespace cccl_cache::daemon
