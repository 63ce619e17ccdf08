// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/local_builds.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace cccl_cache {

LocalBuilds::Running::~Running() {
  // The parent goes on to watch what a forked child lets go of.
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
  const std::shared_ptr<BuildRequest> request = builds_.Find(next.number)->request;
  auto compiler = fallback_.Start(request.get(), next.why);
  if (!compiler.ok()) return builds_.Finish(next.number, std::move(compiler).error());
  readiness_.Watch((*compiler)->socket(), true);
  running_.emplace_back(std::move(next), request, *std::move(compiler), readiness_);
}

bool LocalBuilds::TryToEnd(Running* running) {
  const uint64_t number = running->what.number;
  // Dropped: so is the process.
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

}  // namespace cccl_cache
