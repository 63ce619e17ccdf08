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

/// Limits for all connections of one user together. They follow from the service's limits.
struct TrafficLimits {
  /// Maximum length in bytes that a message may announce: twice message_limit, and at least this
  /// default. A client whose message is only a little too large thus gets gRPC's own error.
  uint64_t message_bytes = 32ull << 20;
  /// Maximum number of calls for which gRPC holds memory: unanswered calls, calls that were
  /// cancelled recently, and calls of ended connections that gRPC has not freed. A call counts here
  /// before the service sees it. The limit is the user's limit of calls in flight plus the calls of
  /// four connections. A client with too many calls thus gets an error for each, and is not cut
  /// off.
  size_t open_calls = 8'192;
  /// Maximum number of connections that may arrive at once: somewhat more than a user may have.
  uint32_t connections_at_once = 1'100;
};

/// Counts the calls and frames of all connections of one user together. A client could otherwise
/// spread them over many connections, of which each stays within its limits. Thread-safe.
class UserTraffic {
 public:
  using Clock = TokenBucket::Clock;

  /// Limits the load of the accepting thread. The first connection of a uid takes 0.24 ms of its
  /// time, and each further one 0.16 ms.
  static constexpr uint32_t kMaxConnectionsPerSecond = 1'000;
  /// Limits of the calls that a client cancels, by RST_STREAM or by the end of the connection. gRPC
  /// holds some 12 KB for such a call until its turn. The maximum at once is the default limit of a
  /// user's calls in flight.
  static constexpr uint32_t kMaxCancelledAtOnce = 4'096;
  static constexpr uint32_t kMaxCancelledPerSecond = 2'000;
  /// Limits of small DATA frames, such as heartbeats of leases, beyond those that FrameRules allows
  /// each call.
  static constexpr uint32_t kMaxSmallAtOnce = 4'096;
  static constexpr uint32_t kMaxSmallPerSecond = 500;

  UserTraffic(const TrafficLimits& limits, Clock::time_point now)
      : limits_(limits),
        connections_(limits.connections_at_once, kMaxConnectionsPerSecond, now),
        cancelled_(kMaxCancelledAtOnce, kMaxCancelledPerSecond, now),
        small_(kMaxSmallAtOnce, kMaxSmallPerSecond, now) {}

  [[nodiscard]] const TrafficLimits& limits() const { return limits_; }

  /// Each of these functions counts one event. It returns false if there were too many.
  [[nodiscard]] bool Connect(Clock::time_point now);
  [[nodiscard]] bool CancelCall(Clock::time_point now) {
    return Take(&UserTraffic::cancelled_, now);
  }
  [[nodiscard]] bool SendSmallFrame(Clock::time_point now) {
    return Take(&UserTraffic::small_, now);
  }
  /// Counts a new call. Returns false if there are too many. After true, CloseCall or DropCalls
  /// must follow. gRPC and the service hold 12 to 17 KB for each unanswered call, and free them
  /// only some time after a cancellation. So a cancelled call still counts for some time.
  [[nodiscard]] bool OpenCall(Clock::time_point now);
  void CloseCall();
  /// Counts the unanswered calls of an ended connection as dropped. Each also counts as cancelled,
  /// even beyond the limit of cancelled calls, and as open until ReleaseCalls.
  void DropCalls(size_t calls, Clock::time_point now);
  /// Counts a call as dropped that gRPC read after the end of the call's connection. Returns false
  /// if there are too many such calls.
  [[nodiscard]] bool DropLateCall(Clock::time_point now);
  /// Records that gRPC has freed this many dropped calls.
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
  size_t dropped_calls_ GUARDED_BY(mutex_) = 0;  ///< dropped calls that gRPC has not freed
};

/// Splits the bytes of one side of an HTTP/2 connection into frame headers and payloads.
class FrameReader {
 public:
  /// `preface` is the number of bytes before the first frame header. They belong to no frame.
  explicit FrameReader(uint64_t preface) : left_(preface) {}

  /// Removes a piece from the front of `bytes`, which must not be empty. If a payload is
  /// incomplete, the piece belongs to the payload and is returned. Otherwise it belongs to the next
  /// frame header, and the result is empty.
  std::span<const uint8_t> Take(std::span<const uint8_t>& bytes);
  /// Returns whether the last Take has completed a frame header. The functions below return the
  /// fields of that header.
  [[nodiscard]] bool at_head() const { return at_head_; }
  [[nodiscard]] uint32_t size() const;
  [[nodiscard]] uint8_t type() const { return head_[3]; }
  [[nodiscard]] uint8_t flags() const { return head_[4]; }
  [[nodiscard]] uint32_t stream() const;

 private:
  static constexpr size_t kHeadBytes = 9;

  uint64_t left_;  ///< bytes of the payload that Take has not seen yet
  std::array<uint8_t, kHeadBytes> head_{0, 0, 0, 0xff};
  size_t in_head_ = 0;
  bool at_head_ = false;
};

/// A rule for the frames of a client.
struct FrameRule {
  const char* text;  ///< what the client did, as the end of a sentence that begins with "it sent"
  /// Whether a user that breaks the rule repeatedly must pause (FloodHistory). False if an honest
  /// client may break it, because of a large message or of the user's other connections.
  bool is_attack = true;
};

/// Follows the HTTP/2 frames of one connection, and returns the first rule that its client breaks.
/// The rules limit memory and work of gRPC that the service's own limits do not cover. Only the
/// headers of frames and of gRPC's messages are read. Not thread-safe.
class FrameRules {
 public:
  using Clock = TokenBucket::Clock;

  /// Maximum bytes of a frame's payload, as gRPC announces it (SETTINGS_MAX_FRAME_SIZE).
  static constexpr uint32_t kMaxFrameBytes = 16 << 10;
  /// Maximum bytes of an encoded header block: HEADERS and all its CONTINUATION frames. gRPC itself
  /// refuses more than 8 KiB of header fields, but only after the block is complete.
  static constexpr uint32_t kMaxBlockBytes = 16 << 10;
  /// Limits of cheap frames: those that cost a client almost nothing, but cost the server work or
  /// memory. They are RST_STREAM, PING, SETTINGS, PRIORITY, GOAWAY, CONTINUATION, empty DATA,
  /// frames of unknown types, and header blocks and small DATA frames that belong to no open call.
  /// Large DATA frames of no open call are not cheap: a client sends them before it knows that the
  /// call was answered, and gRPC keeps none of them.
  static constexpr uint32_t kMaxCheapAtOnce = 2'000;
  static constexpr uint32_t kMaxCheapPerSecond = 500;
  /// Maximum number of calls on a connection whose answers were not sent. gRPC announces 1,024
  /// (MAX_CONCURRENT_STREAMS), but no longer counts a call that the service has answered.
  static constexpr size_t kMaxOpenCalls = 2'048;
  /// These constants limit small DATA frames, because gRPC holds at least 32 bytes for each until
  /// its message is read. Each call has a credit in bytes. A DATA frame costs kFrameCost and earns
  /// its length. Each frame that the server sends for the call earns kEarnedByAnswer and its
  /// length. The credit has a maximum, because messages that were read long ago do not justify
  /// small frames now.
  static constexpr uint64_t kFrameCost = 64;
  static constexpr uint64_t kEarnedByAnswer = 2 * kFrameCost;
  static constexpr uint64_t kEarnedAtFirst = 64 * kFrameCost;
  static constexpr uint64_t kMaxEarned = 256 * kFrameCost;
  /// Maximum number of PINGs that do not count as cheap frames. Clients measure the latency by
  /// PING, and grpc-go sends one for each answer that it reads. So each frame that the server sends
  /// for a call allows one PING.
  static constexpr uint32_t kMaxPings = 64;

  /// `of_user` is the traffic of all connections of the client's user.
  FrameRules(std::shared_ptr<UserTraffic> of_user, Clock::time_point now)
      : of_user_(std::move(of_user)), cheap_(kMaxCheapAtOnce, kMaxCheapPerSecond, now) {}
  ~FrameRules();
  FrameRules(const FrameRules&) = delete;
  FrameRules& operator=(const FrameRules&) = delete;

  /// Checks the next bytes from the client. Frames may be split at any place. Returns the rule that
  /// the bytes break, or null. The results after a broken rule are undefined.
  [[nodiscard]] const FrameRule* Received(std::span<const uint8_t> bytes, Clock::time_point now);
  /// Follows the next bytes that the server sends. Frames may be split at any place.
  void Sent(std::span<const uint8_t> bytes);
  /// Records that the connection has ended, and drops its calls. gRPC may still read calls that the
  /// client sent before; they are dropped too.
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
    uint64_t of_message = 0;  ///< bytes of the current message that have not arrived yet
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
  uint32_t pings_ = 0;  ///< number of PINGs that are allowed now (kMaxPings)
  bool ended_ = false;
  size_t dropped_ = 0;        ///< dropped calls that gRPC has not freed
  uint32_t last_stream_ = 0;  ///< highest stream number that the client has used
  /// The open calls in the order of their stream numbers. The type is a deque because it frees the
  /// memory of closed calls.
  Calls calls_;
};

}  // namespace cccl_cache::daemon
