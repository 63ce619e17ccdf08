// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/daemon_builds.h"

#include <set>
#include <string>
#include <utility>

#include "client/src/transport/timing.h"

namespace cccl_cache {
namespace {

// Effectively no timeout: a stream ends when it has no more builds, and each build has its own
// deadline.
constexpr std::chrono::hours kStreamTimeout{24};
// Number of lost connections after which a build fails.
constexpr int kMaxLosses = 2;
constexpr const char* kManyPath = "/cccl_cache.v1.Build/BuildMany";

}  // namespace

DaemonBuilds::Stream::Stream(Channel::Taken taken, BatchStream::Answered answered,
                             const ByteChain& nothing, Readiness* readiness)
    : talk(std::move(answered)),
      exchange(std::move(taken),
               Exchange::Talk{kManyPath, nothing, &talk, &talk, Deadline::After(kStreamTimeout)},
               readiness) {}

DaemonBuilds::OwnCall::OwnCall(uint64_t of, const BuildLedger::Build& build, Channel::Taken taken,
                               const DaemonStub& daemon, Readiness* readiness)
    : number(of),
      request(build.request),
      messages(build.steps.next(), request.get(), daemon),
      exchange(std::move(taken),
               Exchange::Talk{messages.path(), messages.body(), messages.sink(), messages.source(),
                              build.patience},
               readiness) {}

DaemonBuilds::DaemonBuilds(DaemonStub* daemon, Fallback* fallback, BuildLedger* builds,
                           Readiness* readiness, Failed failed)
    : daemon_(*daemon),
      fallback_(*fallback),
      builds_(*builds),
      readiness_(*readiness),
      failed_(std::move(failed)) {}

void DaemonBuilds::Add(uint64_t number) {
  BuildSteps& steps = builds_.FindAsked(number)->steps;
  if (steps.next() == BuildStep::kBuild) return unsent_.push_back(number);
  steps.GoApart();
  apart_.push_back(number);
}

void DaemonBuilds::Drop(uint64_t number) {
  for (Stream& stream : streams_) stream.talk.Cancel(number);
}

void DaemonBuilds::GoOn() {
  do {
    AskOnStream();
    streams_.remove_if([this](Stream& stream) { return TryToEnd(&stream); });
    StartOwnCalls();
    own_calls_.remove_if([this](OwnCall& call) { return TryToEnd(&call); });
    // A reply may allow the next build to be sent.
  } while ((may_ask() || may_start_own_call()) && !backoff_.waiting(Clock::now()));
}

std::optional<DaemonBuilds::Clock::time_point> DaemonBuilds::wakes_at() const {
  std::optional<Clock::time_point> soonest;
  const auto at = [&](Clock::time_point moment) {
    soonest = std::min(soonest.value_or(moment), moment);
  };
  if (const auto next = backoff_.next(); next && (may_ask() || may_start_own_call())) at(*next);
  for (const Stream& stream : streams_) at(stream.exchange.doubts_at());
  for (const OwnCall& call : own_calls_) at(call.exchange.doubts_at());
  return soonest;
}

size_t DaemonBuilds::asked() const {
  size_t asked = 0;
  for (const Stream& stream : streams_) asked += stream.talk.awaited().size();
  return asked;
}

bool DaemonBuilds::may_ask() const { return !unsent_.empty() && asked() < backoff_.most(); }

void DaemonBuilds::AskOnStream() {
  while (may_ask() && !backoff_.waiting(Clock::now())) {
    const BuildLedger::Build* build = builds_.FindAsked(unsent_.front());
    Stream* const stream = build == nullptr ? nullptr : OpenStream();
    if (build != nullptr && stream == nullptr) return;
    const uint64_t number = unsent_.front();
    unsent_.pop_front();
    if (build == nullptr) continue;
    stream->talk.Ask(number, build->request);
    stream->exchange.Hurry(build->patience.Remaining());
  }
}

DaemonBuilds::Stream* DaemonBuilds::OpenStream() {
  // A stream that is closing takes no more builds. A new stream is opened at once, so that new
  // builds need not wait for the last reply on the old one.
  if (!streams_.empty() && !streams_.back().talk.closed() &&
      !streams_.back().exchange.going_away()) {
    return &streams_.back();
  }
  std::optional<Channel::Taken> taken = Connect();
  if (!taken) return nullptr;
  return &streams_.emplace_back(
      *std::move(taken),
      [this](uint64_t number, Expected<BuildReply> reply) {
        if (!reply.ok() && Postpone(number, reply.error())) return;
        BuildSteps& steps = builds_.FindAsked(number)->steps;
        Answer(number, steps.Took(BuildStep::kBuild, std::move(reply)));
      },
      nothing_, &readiness_);
}

bool DaemonBuilds::TryToEnd(Stream* stream) {
  bool ended = stream->exchange.Advance();
  if (!ended && stream->talk.awaited().empty()) {
    // The stream has no builds. It is closed, because the daemon limits the streams of each user.
    stream->talk.Close();
    ended = stream->exchange.Advance();
  }
  if (!ended) return false;
  EndOf(stream);
  daemon_.channel().Give(stream->exchange.TakeConnection());
  return true;
}

void DaemonBuilds::EndOf(Stream* stream) {
  const Exchange& exchange = stream->exchange;
  const std::set<uint64_t> left = stream->talk.awaited();
  if (exchange.lost()) daemon_.channel().Forget();
  if (left.empty()) return;
  if (exchange.silent()) {
    for (const uint64_t number : left) failed_(number, exchange.ToError(daemon_.socket()));
    return;
  }
  const bool answered = !exchange.lost() && !exchange.went_well();
  if (!answered || exchange.ToError(daemon_.socket()).status == CCCL_CACHE_UNAVAILABLE) {
    const bool back = backoff_.Missed(Clock::now());
    for (const uint64_t number : left) Lose(number, exchange.lost_in_the_middle(), back);
    return;
  }
  // An error of the stream is not an error of its builds: each of them now gets its own call.
  backoff_.Answered(Clock::now());
  for (const uint64_t number : left) {
    builds_.FindAsked(number)->steps.GoApart();
    apart_.push_back(number);
  }
}

void DaemonBuilds::StartOwnCalls() {
  while (may_start_own_call() && !backoff_.waiting(Clock::now())) {
    const uint64_t number = apart_.front();
    BuildLedger::Build* build = builds_.FindAsked(number);
    std::optional<Channel::Taken> taken;
    if (build != nullptr && !(taken = Connect())) return;
    apart_.pop_front();
    if (build == nullptr) continue;
    own_calls_.emplace_back(number, *build, *std::move(taken), daemon_, &readiness_);
  }
}

bool DaemonBuilds::TryToEnd(OwnCall* call) {
  // The build has finished, or only the local compiler may complete it. The call is not needed.
  if (builds_.FindAsked(call->number) == nullptr) return true;
  if (!call->exchange.Advance()) return false;
  EndOf(call);
  daemon_.channel().Give(call->exchange.TakeConnection());
  return true;
}

void DaemonBuilds::EndOf(OwnCall* call) {
  const uint64_t number = call->number;
  BuildLedger::Build& build = *builds_.FindAsked(number);
  const Exchange& exchange = call->exchange;
  build.steps.GoApart();
  if (exchange.lost()) {
    daemon_.channel().Forget();
    return Lose(number, exchange.lost_in_the_middle(), backoff_.Missed(Clock::now()));
  }
  Expected<Done> called = Done{};
  if (!exchange.went_well()) called = exchange.ToError(daemon_.socket());
  if (!called.ok() && Postpone(number, called.error())) return;
  Answer(number, build.steps.Took(&call->messages, called));
}

std::optional<Channel::Taken> DaemonBuilds::Connect() {
  if (const auto resting = fallback_.NotAsked(daemon_.socket())) {
    FailWaiting(*resting);
    return std::nullopt;
  }
  Expected<Channel::Taken> taken = daemon_.channel().Take();
  if (taken.ok()) return *std::move(taken);
  const auto now = Clock::now();
  const cccl_cache_status status = taken.error().status;
  const bool may_come = status == CCCL_CACHE_OVERLOADED ||
                        (status == CCCL_CACHE_NO_DAEMON && backoff_.was_there(now));
  if (!may_come || !backoff_.Missed(now)) FailWaiting(taken.error());
  return std::nullopt;
}

void DaemonBuilds::FailWaiting(const Error& error) {
  for (std::deque<uint64_t>* waiting : {&unsent_, &apart_}) {
    for (const uint64_t number : std::exchange(*waiting, {})) {
      if (builds_.FindAsked(number) != nullptr) failed_(number, error);
    }
  }
}

bool DaemonBuilds::Postpone(uint64_t number, const Error& error) {
  const bool busy = error.status == CCCL_CACHE_OVERLOADED || error.status == CCCL_CACHE_UNAVAILABLE;
  if (!busy || error.retry_after_ms <= 0) return false;
  if (error.status == CCCL_CACHE_OVERLOADED) backoff_.Full(asked());
  backoff_.Postponed(Clock::now(), std::chrono::milliseconds(error.retry_after_ms));
  builds_.FindAsked(number)->postponed = error.message;
  Add(number);
  return true;
}

void DaemonBuilds::Answer(uint64_t number, std::optional<Expected<BuildReply>> reply) {
  backoff_.Answered(Clock::now());
  if (!reply) return Add(number);
  if (!reply->ok()) return failed_(number, std::move(*reply).error());
  fallback_.Answered();
  builds_.Finish(number, *std::move(reply));
}

void DaemonBuilds::Lose(uint64_t number, bool in_the_middle, bool back) {
  const std::string who = "cccl-cached at " + daemon_.socket();
  if (in_the_middle && ++builds_.FindAsked(number)->losses >= kMaxLosses) {
    return failed_(number, {CCCL_CACHE_UNAVAILABLE,
                            who + " closed the connection twice in the middle of this build: its "
                                  "log says why"});
  }
  if (!back) return failed_(number, {CCCL_CACHE_UNAVAILABLE, who + " takes no builds"});
  Add(number);
}

}  // namespace cccl_cache
