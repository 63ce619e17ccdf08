// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <optional>

#include "cccl_cache/expected.h"
#include "client/src/calls/batch_calls.h"
#include "client/src/calls/batch_ledger.h"
#include "client/src/calls/daemon_stub.h"
#include "client/src/calls/fallback.h"
#include "client/src/transport/byte_chain.h"
#include "client/src/transport/channel.h"
#include "client/src/transport/readiness.h"
#include "client/src/transport/timing.h"

namespace cccl_cache {

/// The builds of a batch that the daemon is asked for, over a call of BuildMany; where that won't
/// do, over calls of their own: if it can't open their files, if request or answer are too large
/// for a message, or if it takes no such stream. What a lost connection left unanswered, and what
/// the daemon has no room for now, is asked again, until the build's patience ends. Not
/// thread-safe; the others must outlive it.
class DaemonBuilds {
 public:
  using Clock = std::chrono::steady_clock;
  /// Called for each build that the daemon does not do, with the reason.
  using Failed = std::function<void(uint64_t, Error)>;

  DaemonBuilds(DaemonStub* daemon, Fallback* fallback, BuildLedger* builds, Readiness* readiness,
               Failed failed);

  void Add(uint64_t number);
  /// Its answer is not waited for any more.
  void Drop(uint64_t number);
  /// Goes on as far as needs no wait. Answers go into the ledger.
  void GoOn();
  /// There is something to go on with then, whatever is heard; none: there is not.
  [[nodiscard]] std::optional<Clock::time_point> wakes_at() const;

 private:
  struct Stream {
    Stream(Channel::Taken taken, BatchStream::Answered answered, const ByteChain& nothing,
           Readiness* readiness);

    BatchStream talk;
    Exchange exchange;
  };

  void AskOnStream();
  void StartOwnCalls();
  // False: it goes on.
  bool TryToEnd(Stream* stream);
  bool TryToEnd(OwnCall* call);
  void EndOf(Stream* stream);
  void EndOf(OwnCall* call);

  [[nodiscard]] bool may_ask() const;
  [[nodiscard]] bool may_start_own_call() const {
    return !apart_.empty() && own_calls_.size() < kMaxOwnCalls;
  }
  [[nodiscard]] size_t asked() const;
  /// The stream that takes more builds; null: none does.
  [[nodiscard]] Stream* OpenStream();
  [[nodiscard]] const Stream* open_stream() const;
  /// None: not now, or never; then what waited for it has failed.
  std::optional<Channel::Taken> Connect();
  void FailWaiting(const Error& error);

  void Answer(uint64_t number, Expected<BuildReply> reply);
  /// True: it is asked for again, although this was answered.
  bool MayAskAgain(uint64_t number, const Error& error);
  /// Its connection is gone. `back`: the daemon may be back in time.
  void Lose(uint64_t number, bool in_the_middle, bool back);
  [[nodiscard]] OwnCall::Step NextStep(BuildLedger::Build* build) const;

  static constexpr size_t kMaxOwnCalls = 8;

  DaemonStub& daemon_;
  Fallback& fallback_;
  BuildLedger& builds_;
  Readiness& readiness_;
  const Failed failed_;
  const ByteChain nothing_;
  Backoff backoff_;
  std::deque<uint64_t> unsent_;  ///< wait for a stream; some may have finished
  std::deque<uint64_t> apart_;   ///< wait for a call of their own; some may have finished
  std::list<Stream> streams_;    ///< the last one may take more builds, the others end
  std::list<OwnCall> own_calls_;
};

}  // namespace cccl_cache
