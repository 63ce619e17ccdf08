// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/responder.h"

#include <chrono>
#include <utility>

#include "daemon/core/build_answer.h"
#include "daemon/core/canonical_names.h"

namespace cccl_cached {

void Responder::Answer(WaiterPtr waiter, Result<BuildAnswer> result) {
  if (!table_.Close(waiter->ticket)) return;
  if (observe_) {
    const auto total = std::chrono::steady_clock::now() - waiter->called;
    observe_({waiter->peer, waiter->request->kind(),
              std::chrono::duration_cast<std::chrono::microseconds>(total), result});
  }
  waiter->done(std::move(result));
}

void Responder::Refuse(WaiterPtr waiter, const Error& error) {
  statistics_.Add(Counter::kRefused);
  Answer(std::move(waiter), error);
}

void Responder::AnswerHit(WaiterPtr waiter, const Landing& hit) {
  const bool memory = hit.tier == TierName::kMemory;
  statistics_.Add(memory ? Counter::kHitsMemory : Counter::kHitsDisk);
  statistics_.Add(Counter::kSavedMicroseconds, hit.output.artifact->compile_time.count());
  BuildAnswer answer = AnswerOf(*waiter->plan, hit.output);
  answer.key = hit.key;
  answer.outcome = Outcome::kHit;
  answer.tier = hit.tier;
  Answer(std::move(waiter), std::move(answer));
}

void Responder::AnswerLanding(WaiterPtr waiter, const Landing& landing) {
  if (landing.error) {
    Error error = *landing.error;
    error.message = WithClientNames(*waiter->plan, error.message);
    return Answer(std::move(waiter), std::move(error));
  }
  if (landing.tier != TierName::kNone) return AnswerHit(std::move(waiter), landing);
  BuildAnswer answer = AnswerOf(*waiter, landing);
  Record(*waiter, answer, landing);
  if (waiter->leads && answer.outcome == Outcome::kFailed) {
    statistics_.Add(Counter::kCompileFailures);
  } else if (waiter->leads && answer.outcome == Outcome::kUncacheable) {
    statistics_.Add(Counter::kUncacheable);
  } else if (answer.outcome == Outcome::kJoined) {
    statistics_.Add(Counter::kJoins);
    statistics_.Add(Counter::kSavedMicroseconds, landing.compile_time.count());
  }
  Answer(std::move(waiter), std::move(answer));
}

void Responder::Record(const Waiter& waiter, const BuildAnswer& answer, const Landing& landing) {
  const uid_t uid = waiter.peer.uid;
  // One record is enough for all of a user's calls that waited for one compile.
  if (!waiter.leads && history_.Knows(uid, answer.key)) return;
  PastBuild build = MarkOf(*waiter.plan);
  build.key = answer.key;
  build.outcome = answer.outcome;
  build.reason = answer.reason;
  build.time = std::chrono::system_clock::now();
  build.closure = std::make_shared<const Closure>(landing.closure);
  history_.Add(uid, std::move(build));
}

}  // namespace cccl_cached
