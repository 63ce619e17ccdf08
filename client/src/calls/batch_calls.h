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

/// The messages of one call of the RPC BuildMany, which transfers many requests and replies. Not
/// thread-safe.
class BatchStream final : public MessageSink, public MessageSource {
 public:
  /// Called for each reply when it has arrived. The first argument is the number that Ask got.
  using Answered = std::function<void(uint64_t, Expected<BuildReply>)>;

  explicit BatchStream(Answered answered) : answered_(std::move(answered)) {}

  /// Queues a request for the daemon. The request is not copied, but shared until it is sent.
  void Ask(uint64_t number, std::shared_ptr<const RequestMessage> request);
  /// Cancels a build. If its request was sent, the daemon gets a message. A reply that still
  /// arrives is ignored.
  void Cancel(uint64_t number);
  /// Returns the numbers of the builds that have no reply yet.
  [[nodiscard]] const std::set<uint64_t>& awaited() const { return awaited_; }
  /// Half-closes the stream after the queued messages. No request may be queued afterwards.
  void Close() { closed_ = true; }
  [[nodiscard]] bool closed() const { return closed_; }

  void Restart() override {}
  bool Take(Message message) override;
  const ByteChain* Next() override;
  [[nodiscard]] bool done() const override { return closed_ && outbox_.empty(); }

 private:
  struct OutgoingMessage {
    uint64_t number = 0;
    std::shared_ptr<const RequestMessage> request;  ///< null: the message cancels the build
  };

  const Answered answered_;
  std::set<uint64_t> awaited_;
  std::deque<OutgoingMessage> outbox_;
  OutgoingMessage said_;  ///< the message that is being sent; message_ has references into it
  ByteChain message_;
  bool closed_ = false;
};

/// One call on one connection, for a caller that waits for several calls at once. The destructor
/// ends the call; in a forked child it only closes the descriptor. Not thread-safe. It can't be
/// moved. The objects behind the constructor's arguments must outlive it.
class Exchange {
 public:
  /// The arguments of a call. `body` is sent first, then the messages of `source`.
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

  /// Sends and receives without waiting. Returns true if the call has ended.
  bool Advance();

  // The functions up to ToError() are valid after the call has ended.
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
  /// Returns whether the call ended because the daemon did not answer an HTTP/2 PING.
  [[nodiscard]] bool silent() const { return call_.end() == CallEnd::kSilent; }
  /// Returns the error of a call for which went_well() and lost() are both false. `socket` is the
  /// path for the message.
  [[nodiscard]] Error ToError(const std::string& socket) const;
  /// The call now also waits for an answer that is due within `left`, so an unresponsive daemon
  /// must be detected sooner.
  void Hurry(std::chrono::milliseconds left) { connection_->Hurry(left); }
  /// Returns the time at which Advance must be called even if nothing was received.
  [[nodiscard]] KeepAlive::Clock::time_point doubts_at() const { return connection_->doubts_at(); }
  [[nodiscard]] bool going_away() const { return connection_->going_away(); }
  /// Returns the connection, for another call. The call must have ended.
  std::unique_ptr<Connection> TakeConnection();

 private:
  void Leave();

  std::unique_ptr<Connection> connection_;  ///< null after TakeConnection
  const bool reused_;                       ///< whether the connection was idle before; the daemon
                                            ///< may have closed it meanwhile
  Readiness* const readiness_;
  Call call_;
};

}  // namespace cccl_cache
