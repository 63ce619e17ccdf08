// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "cccl_cache/expected.h"
#include "client/src/calls/daemon_stub.h"
#include "client/src/calls/file_answers.h"
#include "client/src/transport/byte_chain.h"
#include "client/src/transport/call.h"
#include "client/src/transport/channel.h"
#include "client/src/transport/connection.h"
#include "client/src/transport/readiness.h"
#include "client/src/transport/timing.h"
#include "client/src/wire/build_reply.h"
#include "client/src/wire/build_request.h"
#include "client/src/wire/messages.h"

namespace cccl_cache {

/// What is said and heard in one call of BuildMany. Not thread-safe.
class BatchStream final : public MessageSink, public MessageSource {
 public:
  /// Called for each answer as it comes: the build's number on the wire, and its answer.
  using Answered = std::function<void(uint64_t, Expected<BuildReply>)>;

  explicit BatchStream(Answered answered) : answered_(std::move(answered)) {}

  /// The request is not copied: shared until it has been sent.
  void Ask(uint64_t number, std::shared_ptr<const RequestMessage> request);
  /// The daemon is to forget a build, if it was asked for it; its answer is not told.
  void Cancel(uint64_t number);
  /// What was asked and has no answer yet.
  [[nodiscard]] const std::set<uint64_t>& awaited() const { return awaited_; }
  /// No more will be asked.
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
  OutgoingMessage said_;  ///< what message_ refers to
  ByteChain message_;
  bool closed_ = false;
};

/// One call on one connection, for who waits for several at once. What it is made from must outlive
/// it. Its end is the end of the call, in a forked child only of that process' descriptor. Not
/// thread-safe, does not move.
class Exchange {
 public:
  /// What is said and heard. The body comes first.
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

  /// Goes on as far as needs no wait; true: it has ended.
  bool Advance();

  // Once it has ended:
  /// The daemon answered, and found nothing wrong.
  [[nodiscard]] bool went_well() const {
    return call_.end() == CallEnd::kAnswered && call_.status().ok();
  }
  /// The connection ended instead, or was refused: another may do.
  [[nodiscard]] bool lost() const;
  /// It was lost when the daemon may have begun with the call.
  [[nodiscard]] bool lost_in_the_middle() const {
    return call_.end() == CallEnd::kLost && !reused_;
  }
  /// The daemon does not even say that it is there.
  [[nodiscard]] bool silent() const { return call_.end() == CallEnd::kSilent; }
  /// What to tell of one that neither went well nor was lost.
  [[nodiscard]] Error ToError(const std::string& socket) const;
  /// It is to bring something within that time, besides what was waited for already.
  void Hurry(std::chrono::milliseconds left) { connection_->Hurry(left); }
  /// Something is to be done then, whatever is heard: Advance.
  [[nodiscard]] KeepAlive::Clock::time_point doubts_at() const { return connection_->doubts_at(); }
  [[nodiscard]] bool going_away() const { return connection_->going_away(); }
  /// Once it has ended, for another call.
  std::unique_ptr<Connection> TakeConnection();

 private:
  void Leave();

  std::unique_ptr<Connection> connection_;  ///< null: taken
  const bool reused_;                       ///< it had been idle, and may have been stale
  Readiness* const readiness_;
  Call call_;
};

/// One step of a build that needs calls of its own. Not thread-safe, does not move.
class OwnCall {
 public:
  enum class Step {
    kLearnLimit,  ///< asks how large a message may be
    kSendAhead,   ///< sends the next of the contents that make the request too large for one
    kBuild,       ///< answers the daemon's questions about files, takes an answer of any size
    kBuildAlone,  ///< the same without questions, for a daemon that asks none
  };

  /// The stub must outlive it.
  OwnCall(uint64_t number, Step step, std::shared_ptr<RequestMessage> request,
          const DaemonStub& daemon);

  void Start(Channel::Taken taken, Deadline deadline, Readiness* readiness);

  [[nodiscard]] uint64_t number() const { return number_; }
  [[nodiscard]] Step step() const { return step_; }
  /// Once it is started.
  [[nodiscard]] Exchange& exchange() { return *exchange_; }
  [[nodiscard]] const Exchange& exchange() const { return *exchange_; }

  // Once the exchange has ended well:
  [[nodiscard]] const Message& message() { return single_.message(); }
  /// The request names what was sent ahead from now on.
  Expected<Done> NameUpload();
  Expected<BuildReply> TakeReply();

 private:
  [[nodiscard]] const char* Path() const;

  const uint64_t number_;
  const Step step_;
  const std::shared_ptr<RequestMessage> request_;  // what the body refers to
  std::optional<RequestMessage::BlobUse> sent_ahead_;
  ByteChain body_;
  SingleMessage single_;
  BuildConversation conversation_;
  std::optional<Exchange> exchange_;  // last: it refers to the others
};

}  // namespace cccl_cache
