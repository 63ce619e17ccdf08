// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "cccl_cache/expected.h"
#include "client/src/transport/byte_chain.h"
#include "client/src/transport/call.h"
#include "client/src/transport/channel.h"
#include "client/src/transport/connection.h"
#include "client/src/transport/readiness.h"
#include "client/src/transport/timing.h"
#include "client/src/wire/build_reply.h"
#include "client/src/wire/request_message.h"

namespace cccl_cache {

/// The messages sent and received in one call of BuildMany. Not thread-safe.
class BatchStream final : public MessageSink, public MessageSource {
 public:
  /// Called for each reply as it arrives, with the build's number on the wire.
  using Answered = std::function<void(uint64_t, Expected<BuildReply>)>;

  explicit BatchStream(Answered answered) : answered_(std::move(answered)) {}

  /// Queues a request. The request is not copied: the stream shares it until it has been sent.
  void Ask(uint64_t number, std::shared_ptr<const RequestMessage> request);
  /// Cancels a build. The daemon is told if it has the request; a late reply is ignored.
  void Cancel(uint64_t number);
  /// Returns the builds that have no reply yet.
  [[nodiscard]] const std::set<uint64_t>& awaited() const { return awaited_; }
  /// Ends the requests: half-closes the stream.
  void Close() { closed_ = true; }
  [[nodiscard]] bool closed() const { return closed_; }

  void Restart() override {}
  bool Take(Message message) override;
  const ByteChain* Next() override;
  [[nodiscard]] bool done() const override { return closed_ && outbox_.empty(); }

 private:
  struct OutgoingMessage {
    uint64_t number = 0;
    std::shared_ptr<const RequestMessage> request;  ///< null: cancel
  };

  const Answered answered_;
  std::set<uint64_t> awaited_;
  std::deque<OutgoingMessage> outbox_;
  OutgoingMessage said_;  ///< message_ refers to it
  ByteChain message_;
  bool closed_ = false;
};

/// One call on one connection, for a caller that waits for several calls at once. The constructor's
/// arguments must outlive it. The destructor ends the call; in a forked child it only closes the
/// descriptor. Not thread-safe; does not move.
class Exchange {
 public:
  /// The request and the reply. The body is sent first.
  struct Talk {
    std::string_view path;
    const ByteChain& body;
    MessageSink* sink;
    MessageSource* source;
    Deadline deadline;
  };

  Exchange(Channel::Taken taken, const Talk& talk, Readiness* readiness);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// Advances the call as far as possible without waiting. Returns true when it has ended.
  bool Advance();

  // The functions below are valid after the call has ended.
  /// Returns whether the daemon answered without an error.
  [[nodiscard]] bool went_well() const {
    return call_.end() == CallEnd::kAnswered && call_.status().ok();
  }
  /// Returns whether the connection was lost or refused. A retry on another connection may succeed.
  [[nodiscard]] bool lost() const;
  /// Returns whether the connection was lost after the daemon may have started the call.
  [[nodiscard]] bool lost_in_the_middle() const {
    return call_.end() == CallEnd::kLost && !reused_;
  }
  /// Returns whether the daemon did not answer HTTP/2 PING.
  [[nodiscard]] bool silent() const { return call_.end() == CallEnd::kSilent; }
  /// Returns the error of a call that neither succeeded nor lost its connection.
  [[nodiscard]] Error ToError(const std::string& socket) const;
  /// Shortens the keep-alive, because the call now also waits for an answer that is due within
  /// `left`.
  void Hurry(std::chrono::milliseconds left) { connection_->Hurry(left); }
  /// Returns when to call Advance even if nothing is received.
  [[nodiscard]] KeepAlive::Clock::time_point doubts_at() const { return connection_->doubts_at(); }
  [[nodiscard]] bool going_away() const { return connection_->going_away(); }
  /// Releases the connection of an ended call for another call.
  std::unique_ptr<Connection> TakeConnection();

 private:
  void Leave();

  std::unique_ptr<Connection> connection_;  ///< null after TakeConnection
  const bool reused_;                       ///< whether the connection was idle before, so that it
                                            ///< may have been stale
  Readiness* const readiness_;
  Call call_;
};

}  // namespace cccl_cache
