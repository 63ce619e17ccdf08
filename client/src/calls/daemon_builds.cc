// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/daemon_builds.h"

#include <set>
#include <string>
#include <utility>

#include "client/src/transport/timing.h"

namespace cccl_cache {
namespace {

// A stream lives as long as there are builds; each of these has a deadline of its own.
constexpr std::chrono::hours kStreamTimeout{24};
// A build during which the connection was lost twice is not retried.
constexpr int kMaxLosses = 2;
// Retries for causes that a further call repairs: an expired upload, an unknown limit.
constexpr int kMaxRepeats = 3;

}  // namespace

DaemonBuilds::Stream::Stream(Channel::Taken taken, BatchStream::Answered answered,
                             const ByteChain& nothing, Readiness* readiness)
    : talk(std::move(answered)),
      exchange(std::move(taken),
               Exchange::Talk{DaemonStub::kManyPath, nothing, &talk, &talk,
                              Deadline::After(kStreamTimeout)},
               readiness) {}

DaemonBuilds::DaemonBuilds(DaemonStub* daemon, Fallback* fallback, BuildLedger* builds,
                           Readiness* readiness, Failed failed)
    : daemon_(*daemon),
      fallback_(*fallback),
      builds_(*builds),
      readiness_(*readiness),
      failed_(std::move(failed)) {}

void DaemonBuilds::Add(uint64_t number) {
  const BuildLedger::Build& build = *builds_.FindAsked(number);
  const bool apart =
      build.apart || daemon_.elsewhere() || !daemon_.Fits(*build.request, RequestMessage::kAround);
  (apart ? apart_ : unsent_).push_back(number);
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
    // The reply of one call may unblock another.
  } while ((may_ask() || may_start_own_call()) && !backoff_.waiting(Clock::now()));
}

std::optional<DaemonBuilds::Clock::time_point> DaemonBuilds::wakes_at() const {
  std::optional<Clock::time_point> soonest;
  const auto at = [&](Clock::time_point moment) {
    soonest = std::min(soonest.value_or(moment), moment);
  };
  if (const auto next = backoff_.next(); next && (may_ask() || may_start_own_call())) at(*next);
  for (const Stream& stream : streams_) at(stream.exchange.doubts_at());
  for (const OwnCall& call : own_calls_) at(call.exchange().doubts_at());
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
  // A closing stream takes no more builds, so that new ones do not wait for its last reply.
  if (!streams_.empty() && !streams_.back().talk.closed() &&
      !streams_.back().exchange.going_away()) {
    return &streams_.back();
  }
  std::optional<Channel::Taken> taken = Connect();
  if (!taken) return nullptr;
  return &streams_.emplace_back(
      *std::move(taken),
      [this](uint64_t number, Expected<BuildReply> reply) { Answer(number, std::move(reply)); },
      nothing_, &readiness_);
}

bool DaemonBuilds::TryToEnd(Stream* stream) {
  bool ended = stream->exchange.Advance();
  if (!ended && stream->talk.awaited().empty()) {
    // The daemon allows only a few such streams per user.
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
  // An error of the stream is not an error of each of its builds.
  backoff_.Answered(Clock::now());
  for (const uint64_t number : left) {
    builds_.FindAsked(number)->apart = true;
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
    own_calls_.emplace_back(number, NextStep(build), build->request, daemon_)
        .Start(*std::move(taken), build->patience, &readiness_);
  }
}

OwnCall::Step DaemonBuilds::NextStep(BuildLedger::Build* build) const {
  if (build->too_large) return OwnCall::Step::kLearnLimit;
  if (daemon_.NextToSendAhead(build->request.get(), RequestMessage::kAround)) {
    return OwnCall::Step::kSendAhead;
  }
  return build->no_files ? OwnCall::Step::kBuildAlone : OwnCall::Step::kBuild;
}

bool DaemonBuilds::TryToEnd(OwnCall* call) {
  // The build has finished, or is compiled locally: the call ends.
  if (builds_.FindAsked(call->number()) == nullptr) return true;
  if (!call->exchange().Advance()) return false;
  EndOf(call);
  daemon_.channel().Give(call->exchange().TakeConnection());
  return true;
}

void DaemonBuilds::EndOf(OwnCall* call) {
  const uint64_t number = call->number();
  BuildLedger::Build& build = *builds_.FindAsked(number);
  const Exchange& exchange = call->exchange();
  build.apart = true;
  if (exchange.lost()) {
    daemon_.channel().Forget();
    return Lose(number, exchange.lost_in_the_middle(), backoff_.Missed(Clock::now()));
  }
  if (!exchange.went_well()) {
    Error error = exchange.ToError(daemon_.socket());
    const bool unknown = error.status == CCCL_CACHE_PROTOCOL &&
                         call->step() == OwnCall::Step::kBuild && !build.no_files;
    if (!unknown) return Answer(number, std::move(error));
    build.no_files = true;
    return apart_.push_front(number);
  }
  switch (call->step()) {
    case OwnCall::Step::kLearnLimit: {
      const Error too_large = *std::exchange(build.too_large, std::nullopt);
      daemon_.NoteLimit(call->message());
      if (daemon_.Fits(*build.request, RequestMessage::kAround)) return failed_(number, too_large);
      return apart_.push_front(number);
    }
    case OwnCall::Step::kSendAhead:
      if (auto named = call->NameUpload(); !named.ok()) {
        return failed_(number, std::move(named).error());
      }
      return apart_.push_front(number);
    default:
      return Answer(number, call->TakeReply());
  }
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

void DaemonBuilds::Answer(uint64_t number, Expected<BuildReply> reply) {
  if (!reply.ok()) {
    if (MayAskAgain(number, reply.error())) return Add(number);
    const std::optional<Error> too_large = builds_.FindAsked(number)->too_large;
    return failed_(number, too_large.value_or(reply.error()));
  }
  backoff_.Answered(Clock::now());
  if (reply->needs_chunks()) {
    BuildLedger::Build& build = *builds_.FindAsked(number);
    build.reply = *std::move(reply);
    build.apart = true;
    return apart_.push_back(number);
  }
  fallback_.Answered();
  builds_.Finish(number, std::move(reply));
}

bool DaemonBuilds::MayAskAgain(uint64_t number, const Error& error) {
  BuildLedger::Build& build = *builds_.FindAsked(number);
  const auto now = Clock::now();
  const bool busy = error.status == CCCL_CACHE_OVERLOADED || error.status == CCCL_CACHE_UNAVAILABLE;
  if (busy && error.retry_after_ms > 0) {
    if (error.status == CCCL_CACHE_OVERLOADED) backoff_.Full(asked());
    backoff_.Postponed(now, std::chrono::milliseconds(error.retry_after_ms));
    build.postponed = error.message;
    return true;
  }
  backoff_.Answered(now);
  switch (error.status) {
    case CCCL_CACHE_FILES_NEEDED:
      daemon_.NoteElsewhere();
      return !std::exchange(build.apart, true);
    case CCCL_CACHE_UPLOAD_NEEDED:
      build.request->InlineAll();
      return ++build.repeats < kMaxRepeats;
    case CCCL_CACHE_TOO_LARGE:
      build.too_large = error;
      build.apart = true;
      return ++build.repeats < kMaxRepeats;
    default:
      return false;
  }
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
