// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/build/responder.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "daemon/core/build/build_answer.h"
#include "daemon/core/plan/roots.h"

namespace cccl_cache::daemon {
namespace {

// As the compiler was told; empty: it was not.
std::string ArchOf(const BuildPlan& plan) {
  const auto names_arch = [](const cccl_cache::ParsedOption& option) {
    return option.rule != nullptr &&
           (option.rule->name == "--gpu-architecture" || option.rule->name == "-arch");
  };
  const auto found = std::ranges::find_if(plan.options, names_arch);
  return found == plan.options.end() ? "" : found->value;
}

}  // namespace

void Responder::Answer(WaiterPtr waiter, Result<BuildAnswer> result) {
  Answer(std::move(waiter), std::move(result), false);
}

void Responder::Answer(WaiterPtr waiter, Result<BuildAnswer> result, bool kept) {
  if (!parts_.table.Close(waiter->ticket)) return;
  if (kept) NoteAnswered(*waiter, result->key);
  if (parts_.observe) {
    const auto total = std::chrono::steady_clock::now() - waiter->called;
    parts_.observe({waiter->peer, waiter->request->kind(),
                    std::chrono::duration_cast<std::chrono::microseconds>(total), result});
  }
  waiter->done(std::move(result));
}

void Responder::Refuse(WaiterPtr waiter, const Error& error) {
  parts_.statistics.Add(Counter::kRefused);
  Answer(std::move(waiter), error);
}

void Responder::AnswerHit(WaiterPtr waiter, const Landing& hit, const Closure& closure) {
  const std::chrono::microseconds compile_time = hit.output.artifact->compile_time;
  BuildAnswer answer = AnswerOf(*waiter->plan, hit.output);
  answer.key = hit.key;
  answer.outcome = waiter->if_found;
  answer.closed = IsOfToolchain(closure);
  if (answer.outcome == Outcome::kHit) {
    answer.tier = hit.tier;
    const bool memory = hit.tier == TierName::kMemory;
    parts_.statistics.Add(memory ? Counter::kHitsMemory : Counter::kHitsDisk);
  } else {
    answer.compile_time = compile_time;
    if (answer.outcome == Outcome::kJoined) parts_.statistics.Add(Counter::kJoins);
  }
  if (answer.outcome != Outcome::kBuilt) {
    parts_.statistics.Add(Counter::kSavedMicroseconds, compile_time.count());
  }
  Answer(std::move(waiter), std::move(answer), true);
}

void Responder::AnswerLanding(WaiterPtr waiter, const Landing& landing) {
  if (landing.error) {
    Error error = *landing.error;
    error.message = WithClientNames(*waiter->plan, error.message);
    return Answer(std::move(waiter), std::move(error));
  }
  if (landing.tier != TierName::kNone)
    return AnswerHit(std::move(waiter), landing, landing.closure);
  BuildAnswer answer = AnswerOf(*waiter, landing);
  Record(*waiter, answer, landing);
  if (waiter->leads && answer.outcome == Outcome::kFailed) {
    parts_.statistics.Add(Counter::kCompileFailures);
  } else if (waiter->leads && answer.outcome == Outcome::kUncacheable) {
    parts_.statistics.Add(Counter::kUncacheable);
  } else if (answer.outcome == Outcome::kJoined) {
    parts_.statistics.Add(Counter::kJoins);
    parts_.statistics.Add(Counter::kSavedMicroseconds, landing.compile_time.count());
  }
  Answer(std::move(waiter), std::move(answer), landing.keepable() && landing.output.succeeded);
}

void Responder::NoteAnswered(const Waiter& waiter, const cccl_cache::Digest& key) {
  if (parts_.answered == nullptr) return;
  const BuildPlan& plan = *waiter.plan;
  const Toolchain& toolchain = *plan.job.toolchain;
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  parts_.answered->Note(waiter.peer.uid, {key, plan.fingerprint, toolchain.id, toolchain.version(),
                                          ArchOf(plan), now});
}

void Responder::Record(const Waiter& waiter, const BuildAnswer& answer, const Landing& landing) {
  const uid_t uid = waiter.peer.uid;
  // One record is enough for all of a user's calls that waited for one compile.
  if (!waiter.leads && parts_.history.Knows(uid, answer.key)) return;
  PastBuild build = MarkOf(*waiter.plan);
  build.key = answer.key;
  build.outcome = answer.outcome;
  build.reason = answer.reason;
  build.time = std::chrono::system_clock::now();
  build.closure = std::make_shared<const Closure>(landing.closure);
  parts_.history.Add(uid, waiter.peer.account(), std::move(build));
}

}  // namespace cccl_cache::daemon
