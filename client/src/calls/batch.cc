// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/batch.h"

#include <algorithm>
#include <string>
#include <utility>

namespace cccl_cache {
namespace {

Error NotOurs() {
  return {CCCL_CACHE_INVALID_REQUEST,
          "this batch belongs to the process that forked: open one of your own"};
}

}  // namespace

LocalBuilds::Running::~Running() {
  // A forked child shares the epoll set with its parent, so it must not remove the socket.
  if (compiler->owned()) readiness.Forget(compiler->socket());
}

LocalBuilds::LocalBuilds(const Fallback* fallback, BuildLedger* builds, Readiness* readiness)
    : fallback_(*fallback),
      builds_(*builds),
      readiness_(*readiness),
      most_(static_cast<size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)))) {}

void LocalBuilds::GoOn() {
  running_.remove_if([this](Running& running) { return TryToEnd(&running); });
  while (!waiting_.empty() && running_.size() < most_) {
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    if (builds_.Find(next.number) != nullptr) Start(std::move(next));
  }
}

void LocalBuilds::Start(Waiting next) {
  const std::shared_ptr<RequestMessage> request = builds_.Find(next.number)->request;
  auto compiler = fallback_.Start(request.get(), next.why);
  if (!compiler.ok()) return builds_.Finish(next.number, std::move(compiler).error());
  readiness_.Watch((*compiler)->socket(), true);
  running_.emplace_back(std::move(next), request, *std::move(compiler), readiness_);
}

bool LocalBuilds::TryToEnd(Running* running) {
  const uint64_t number = running->what.number;
  // The build was cancelled or has passed its deadline. The caller destroys this object, and its
  // destructor ends the child process.
  if (builds_.Find(number) == nullptr) return true;
  LocalCompiler& compiler = *running->compiler;
  if (!compiler.Advance()) {
    readiness_.Watch(compiler.socket(), compiler.wants_to_write());
    return false;
  }
  Expected<BuildReply> reply = compiler.TakeReply();
  if (reply.ok()) {
    fallback_.Note(running->what.why.message);
    builds_.FinishHere(number, *std::move(reply), running->what.why.message);
  } else {
    builds_.Finish(number, Fallback::AfterLocal(std::move(reply).error(), running->what.why));
  }
  return true;
}

Expected<std::unique_ptr<BuildBatch>> BuildBatch::Open(DaemonStub* daemon, Fallback* fallback,
                                                       ResultCache* memory) {
  Expected<Readiness> readiness = Readiness::Make();
  if (!readiness.ok()) return std::move(readiness).error();
  return std::unique_ptr<BuildBatch>(
      new BuildBatch(daemon, fallback, memory, *std::move(readiness)));
}

BuildBatch::BuildBatch(DaemonStub* daemon, Fallback* fallback, ResultCache* memory,
                       Readiness readiness)
    : daemon_(*daemon),
      fallback_(*fallback),
      readiness_(std::move(readiness)),
      builds_(memory),
      asked_(daemon, fallback, &builds_, &readiness_,
             [this](uint64_t number, Error error) { Fail(number, std::move(error)); }),
      local_(fallback, &builds_, &readiness_) {}

Expected<Done> BuildBatch::Add(std::shared_ptr<RequestMessage> request, RequestName name,
                               uint64_t tag, Deadline deadline) {
  if (!owned()) return NotOurs();
  BuildSteps steps(&daemon_, request.get());
  asked_.Add(builds_.Add({tag, std::move(request), std::move(steps), std::move(name), deadline,
                          fallback_.PatienceFor(deadline)}));
  GoOn();
  return Done{};
}

Expected<Done> BuildBatch::AddKnown(std::shared_ptr<const BuildReply> reply, uint64_t tag) {
  if (!owned()) return NotOurs();
  builds_.AddFinished(
      {tag, TimedReply{.reply = std::move(reply), .total = {}, .from_memory = true}});
  Rearm();
  return Done{};
}

void BuildBatch::Cancel(uint64_t tag) {
  if (!owned()) return;
  for (const uint64_t number : builds_.WithTag(tag)) {
    asked_.Drop(number);
    builds_.Finish(number, Error{CCCL_CACHE_CANCELLED, "this build was cancelled by its program"});
  }
  GoOn();
}

std::optional<BuildLedger::Finished> BuildBatch::Next(const Deadline& deadline) {
  if (!owned()) return std::nullopt;
  while (true) {
    if (!builds_.any_finished()) GoOn();
    if (auto next = builds_.Take()) {
      Rearm();
      return next;
    }
    if (!builds_.any_open() || deadline.Passed()) return std::nullopt;
    readiness_.Wait(deadline);
  }
}

void BuildBatch::GoOn() {
  EndLate();
  asked_.GoOn();
  local_.GoOn();
  Rearm();
}

void BuildBatch::EndLate() {
  for (const uint64_t number : builds_.Late(Clock::now())) {
    asked_.Drop(number);
    std::string message = "no answer from cccl-cached at " + daemon_.socket() + " in time";
    const std::string& postponed = builds_.Find(number)->postponed;
    if (!postponed.empty()) message += ", which said: " + postponed;
    Fail(number, {CCCL_CACHE_DEADLINE, std::move(message)});
  }
}

void BuildBatch::Rearm() {
  if (builds_.any_finished()) return readiness_.WakeAt(Clock::time_point{});
  if (!builds_.any_open()) return readiness_.WakeAt(std::nullopt);
  const auto asks = asked_.wakes_at();
  readiness_.WakeAt(asks ? std::min(builds_.soonest(), *asks) : builds_.soonest());
}

void BuildBatch::Fail(uint64_t number, Error error) {
  const BuildLedger::Build& build = *builds_.Find(number);
  // If the daemon answered that it has no room, it is not unresponsive, and the circuit breaker
  // must not count this as a failure.
  const bool postponed = error.status == CCCL_CACHE_DEADLINE && !build.postponed.empty();
  if (!build.here && !postponed) fallback_.Failed(error.status, Clock::now() - build.start);
  if (build.here || !build.request->may_be_compiled() ||
      !fallback_.MayDoBetter(error.status, build.deadline)) {
    return builds_.Finish(number, std::move(error));
  }
  builds_.KeepHere(number);
  local_.Add(number, Fallback::WithoutAdvice(std::move(error)));
}

}  // namespace cccl_cache
