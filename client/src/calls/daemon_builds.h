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

/// The builds of a batch that the daemon does, over a call of BuildMany. A build gets its own calls
/// if the daemon can't open its files, if the request or reply is too large for a message, or if
/// the daemon has no such stream. After a lost connection, or if the daemon has no room, a build is
/// retried until its patience ends. Not thread-safe; the constructor's arguments must outlive it.
class DaemonBuilds {
 public:
  using Clock = std::chrono::steady_clock;
  /// Called with the reason for each build that the daemon does not complete.
  using Failed = std::function<void(uint64_t, Error)>;

  DaemonBuilds(DaemonStub* daemon, Fallback* fallback, BuildLedger* builds, Readiness* readiness,
               Failed failed);

  void Add(uint64_t number);
  /// Stops waiting for a build's reply.
  void Drop(uint64_t number);
  /// Advances all builds as far as possible without waiting. Replies go into the ledger.
  void GoOn();
  /// Returns the time at which GoOn must be called even if nothing is received. None: no such time.
  [[nodiscard]] std::optional<Clock::time_point> wakes_at() const;

 private:
  struct Stream {
    Stream(Channel::Taken taken, BatchStream::Answered answered, const ByteChain& nothing,
           Readiness* readiness);

    BatchStream talk;
    Exchange exchange;
  };

  /// A step of a build with a call of its own.
  struct OwnCall {
    OwnCall(uint64_t number, const BuildLedger::Build& build, Channel::Taken taken,
            const DaemonStub& daemon, Readiness* readiness);

    const uint64_t number;
    const std::shared_ptr<RequestMessage> request;  ///< the messages refer to it
    BuildCall messages;
    Exchange exchange;
  };

  void AskOnStream();
  void StartOwnCalls();
  // Ends the stream if its call has ended. Returns false if the call continues.
  bool TryToEnd(Stream* stream);
  bool TryToEnd(OwnCall* call);
  void EndOf(Stream* stream);
  void EndOf(OwnCall* call);

  [[nodiscard]] bool may_ask() const;
  [[nodiscard]] bool may_start_own_call() const {
    return !apart_.empty() && own_calls_.size() < kMaxOwnCalls;
  }
  [[nodiscard]] size_t asked() const;
  /// Returns the stream that takes more builds, or null.
  [[nodiscard]] Stream* OpenStream();
  /// Returns a connection. None: retry later, or all builds that waited for a connection have
  /// failed.
  std::optional<Channel::Taken> Connect();
  void FailWaiting(const Error& error);

  /// Returns whether the daemon asked for a later retry.
  bool Postpone(uint64_t number, const Error& error);
  /// Finishes the build, or starts its next step if there is no reply.
  void Answer(uint64_t number, std::optional<Expected<BuildReply>> reply);
  /// Handles a lost connection of a build. `back`: whether the daemon may return in time.
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
