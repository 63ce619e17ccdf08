// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/build/build_answer.h"

#include <algorithm>

#include "daemon/core/plan/roots.h"

namespace cccl_cache::daemon {
namespace {

std::string UncacheableReason(const Landing& landing) {
  if (!landing.uncacheable_reason.empty()) return landing.uncacheable_reason;
  return "the toolchain changed on disk while this was compiled";
}

}  // namespace

BuildAnswer AnswerOf(const BuildPlan& plan, const CompileOutput& output) {
  BuildAnswer answer;
  answer.outcome = output.succeeded ? Outcome::kBuilt : Outcome::kFailed;
  answer.key = plan.key;
  answer.fingerprint = plan.fingerprint;
  answer.toolchain_id = plan.job.toolchain->id;
  answer.toolchain_version = plan.job.toolchain->version();
  answer.artifact = output.artifact;
  answer.log = WithClientNames(plan, output.artifact->log);
  answer.native_code = output.native_code;
  answer.precompiled_headers = output.precompiled_headers;
  if (!output.succeeded) answer.reason = output.Reason();
  return answer;
}

BuildAnswer AnswerOf(const Waiter& waiter, const Landing& landing) {
  using std::chrono::microseconds;
  BuildAnswer answer = AnswerOf(*waiter.plan, landing.output);
  answer.key = KeyOf(waiter.plan->fingerprint, landing.closure);
  answer.compile_time = landing.compile_time;
  answer.queue_time = std::max(
      microseconds{0}, std::chrono::duration_cast<microseconds>(landing.started - waiter.joined));
  if (!landing.output.succeeded) return answer;
  if (!landing.keepable()) {
    answer.outcome = Outcome::kUncacheable;
    answer.reason = UncacheableReason(landing);
  } else if (!waiter.leads) {
    answer.outcome = Outcome::kJoined;
  }
  answer.closed = landing.keepable() && IsOfToolchain(landing.closure);
  return answer;
}

}  // namespace cccl_cache::daemon
