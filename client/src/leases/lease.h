// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cccl_cache/expected.h"
#include "client/src/leases/held_call.h"
#include "client/src/transport/byte_chain.h"
#include "client/src/transport/call.h"
#include "client/src/transport/channel.h"
#include "client/src/transport/timing.h"

namespace cccl_cache {

/// The messages of a call of the RPC Acquire after the key. The daemon sends the deposit or the
/// lease. A client with the lease sends heartbeats, and at the end the contents. Not thread-safe.
class DepositConversation final : public MessageSink, public MessageSource {
 public:
  void Restart() override { *this = DepositConversation(); }
  bool Take(Message message) override;
  const ByteChain* Next() override;

  /// Returns whether this client has the lease. If not, it must send no messages.
  [[nodiscard]] bool granted() const { return granted_; }
  /// Returns whether the daemon sent a deposit and all its contents have arrived.
  [[nodiscard]] bool found() const { return announced_ && contents_.size() == size_; }
  [[nodiscard]] bool published() const { return published_; }
  /// Returns whether the client with the lease failed. This client then continues without a lease.
  [[nodiscard]] bool released() const { return released_; }

  [[nodiscard]] std::string& key() { return key_; }  ///< hexadecimal
  [[nodiscard]] std::string& contents() { return contents_; }
  [[nodiscard]] uint64_t fence() const { return fence_; }
  [[nodiscard]] std::chrono::milliseconds heartbeat() const { return heartbeat_; }

  void SayHeartbeat() { heartbeat_due_ = true; }
  /// Queues the contents for publication. They must be valid until the call has ended.
  void SayPublication(std::string_view contents);
  void SayAbandonment(bool failed) {
    abandonment_due_ = true;
    failed_ = failed;
  }

 private:
  bool TakeFound(std::string_view found);
  bool TakeLease(std::string_view lease);
  bool TakeRelease(std::string_view release);
  bool TakeContents(std::string_view contents);

  std::string key_;
  bool announced_ = false;
  uint64_t size_ = 0;
  std::string contents_;
  bool granted_ = false;
  uint64_t fence_ = 0;
  std::chrono::milliseconds heartbeat_{0};
  bool published_ = false;
  bool released_ = false;

  bool heartbeat_due_ = false;
  std::string_view rest_;  ///< the part of the published contents for further messages
  bool publication_due_ = false;
  uint64_t published_size_ = 0;
  bool abandonment_due_ = false;
  bool failed_ = false;
  ByteChain message_;  ///< the message that is being sent
};

/// A lease that this process holds: its Acquire call, whose thread sends heartbeats. A forked child
/// does not hold the lease. Only held() and expired() are thread-safe.
class HeldLease {
 public:
  /// `open` is the Acquire call, which continues. `conversation` has its messages. After `hold`, if
  /// it is given, the thread ends the lease as Fail() does.
  HeldLease(OpenCall open, std::unique_ptr<DepositConversation> conversation, std::string socket,
            std::optional<std::chrono::milliseconds> hold);
  /// Abandons the lease if it is held.
  ~HeldLease();
  HeldLease(const HeldLease&) = delete;
  HeldLease& operator=(const HeldLease&) = delete;

  /// Returns whether the lease is held. If the daemon or the connection has ended, the client may
  /// not know it yet.
  [[nodiscard]] bool held() const;
  /// Returns whether the lease has ended because `hold` has passed.
  [[nodiscard]] bool expired() const { return state_ == State::kExpired; }
  [[nodiscard]] const std::string& key() const { return conversation_->key(); }
  [[nodiscard]] uint64_t fence() const { return conversation_->fence(); }

  /// Publishes the contents and ends the lease. The lease is not held afterwards, even after an
  /// error.
  Expected<Done> Publish(std::string_view contents, Deadline deadline);
  void Abandon() { GiveUp(false); }
  /// Ends the lease without a deposit. Other clients that wait for it continue without a lease.
  void Fail() { GiveUp(true); }

 private:
  enum class State { kHeld, kOver, kExpired };

  /// Runs on the thread: sends a heartbeat, or ends the lease. Returns the time until its next
  /// call.
  std::chrono::milliseconds Beat();
  [[nodiscard]] std::chrono::milliseconds NextBeat() const;
  /// Returns false if the lease was over before.
  bool End(State state);
  void GiveUp(bool failed);
  /// Sends and receives until the call has ended, the deadline has passed, or the daemon is silent.
  void Converse(const Deadline& deadline);
  /// Returns the result of Publish after the end of the call. `said`: whether the call was still
  /// open when the contents were queued, so that the daemon may have received them.
  [[nodiscard]] Expected<Done> Outcome(bool said) const;

  const std::unique_ptr<DepositConversation> conversation_;
  const std::optional<Deadline> expiry_;
  std::atomic<State> state_{State::kHeld};
  HeldCall held_;  ///< its thread uses the members above
  const std::string socket_;
};

}  // namespace cccl_cache
