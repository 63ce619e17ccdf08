// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>

#include "cccl_cache/expected.h"
#include "client/src/calls/batch_calls.h"
#include "client/src/calls/batch_ledger.h"
#include "client/src/calls/build_steps.h"
#include "client/src/calls/daemon_stub.h"
#include "client/src/calls/fallback.h"
#include "client/src/transport/byte_chain.h"
#include "client/src/transport/channel.h"
#include "client/src/transport/readiness.h"
#include "client/src/transport/timing.h"

namespace cccl_cache {

/// The builds of a batch that the daemon is to complete. They share a stream, that is, a call of
/// the RPC BuildMany. A build gets calls of its own if the daemon can't open its files, if its
/// request or reply is too large for a message, or if the stream fails. A build is sent again after
/// a lost connection, and when the daemon has room again, until its patience ends. Not thread-safe.
/// The arguments of the constructor must outlive it.
class DaemonBuilds {
 public:
  using Clock = std::chrono::steady_clock;
  /// Called for each build that the daemon does not complete, with its number and the error.
  using Failed = std::function<void(uint64_t, Error)>;

  DaemonBuilds(DaemonStub* daemon, Fallback* fallback, BuildLedger* builds, Readiness* readiness,
               Failed failed);

  void Add(uint64_t number);
  /// Cancels a build, because its reply is not needed any more.
  void Drop(uint64_t number);
  /// Sends and receives without waiting. Results go into the ledger.
  void GoOn();
  /// Returns the time at which GoOn must be called even if nothing was received. None: there is
  /// none.
  [[nodiscard]] std::optional<Clock::time_point> wakes_at() const;

 private:
  struct Stream {
    Stream(Channel::Taken taken, BatchStream::Answered answered, const ByteChain& nothing,
           Readiness* readiness);

    BatchStream talk;
    Exchange exchange;
  };

  /// A call for one build.
  struct OwnCall {
    OwnCall(uint64_t number, const BuildLedger::Build& build, Channel::Taken taken,
            const DaemonStub& daemon, Readiness* readiness);

    const uint64_t number;
    const std::shared_ptr<RequestMessage> request;  ///< must live as long as `messages`
    BuildCall messages;
    Exchange exchange;
  };

  void AskOnStream();
  void StartOwnCalls();
  // Handles the end of the call, if it has ended. Returns false if it continues.
  bool TryToEnd(Stream* stream);
  bool TryToEnd(OwnCall* call);
  void EndOf(Stream* stream);
  void EndOf(OwnCall* call);

  [[nodiscard]] bool may_ask() const;
  [[nodiscard]] bool may_start_own_call() const {
    return !apart_.empty() && own_calls_.size() < kMaxOwnCalls;
  }
  [[nodiscard]] size_t asked() const;
  /// Returns a stream to which builds can be added. Null: there is no connection.
  [[nodiscard]] Stream* OpenStream();
  /// Returns a connection. None: the caller must retry later, or all waiting builds have failed.
  std::optional<Channel::Taken> Connect();
  void FailWaiting(const Error& error);

  /// If the daemon asked for a later retry, queues the build again and returns true.
  bool Postpone(uint64_t number, const Error& error);
  /// Handles the result of a call: finishes the build, or queues it for its next call if there is
  /// none.
  void Answer(uint64_t number, std::optional<Expected<BuildReply>> reply);
  /// Handles a lost connection: queues the build again, or fails it. `back`: whether the daemon may
  /// come back in time. `in_the_middle`: whether the daemon may have begun the build.
  void Lose(uint64_t number, bool in_the_middle, bool back);

  static constexpr size_t kMaxOwnCalls = 8;

  DaemonStub& daemon_;
  Fallback& fallback_;
  BuildLedger& builds_;
  Readiness& readiness_;
  const Failed failed_;
  const ByteChain nothing_;
  Backoff backoff_;
  std::deque<uint64_t> unsent_;  ///< numbers of builds that wait for a stream; some may have
                                 ///< finished
  std::deque<uint64_t> apart_;   ///< numbers of builds that wait for an own call; some may have
                                 ///< finished
  std::list<Stream> streams_;    ///< the last stream may take more builds; the other streams are
                                 ///< closing
  std::list<OwnCall> own_calls_;
};

}  // namespace cccl_cache
