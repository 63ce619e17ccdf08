// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/coordinator/responder.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>

#include "daemon/core/plan/roots.h"
#include "daemon/system/random.h"

namespace cccl_cache::daemon {
namespace {

// Returns the value of the architecture option, or an empty string if there is no such option.
std::string ArchOf(const BuildPlan& plan) {
  const auto names_arch = [](const ParsedOption& option) {
    return option.rule != nullptr &&
           (option.rule->name == "--gpu-architecture" || option.rule->name == "-arch");
  };
  const auto found = std::ranges::find_if(plan.options, names_arch);
  return found == plan.options.end() ? "" : found->value;
}

Counter HitsOf(TierName tier) {
  if (tier == TierName::kRemote) return Counter::kHitsRemote;
  if (tier == TierName::kShelf) return Counter::kHitsShelf;
  return tier == TierName::kMemory ? Counter::kHitsMemory : Counter::kHitsDisk;
}

std::string UncacheableReason(const FlightResult& flight_result) {
  if (!flight_result.uncacheable_reason.empty()) return flight_result.uncacheable_reason;
  return "the toolchain changed on disk while this was compiled";
}

}  // namespace

Responder::Responder(Parts parts) : parts_(std::move(parts)), secret_(RandomDigest()) {}

uint64_t Responder::IdOf(Build::Ticket ticket) const {
  Hasher hasher;
  hasher.AppendValue("secret", secret_.View());
  hasher.AppendValue("ticket", ticket);
  uint64_t id = 0;
  std::memcpy(&id, hasher.Finish().bytes.data(), sizeof(id));
  return std::max<uint64_t>(id, 1);
}

void Responder::Answer(BuildPtr build, const Error& error) {
  Answer(std::move(build), Result<BuildAnswer>(error), false);
}

void Responder::Answer(BuildPtr build, Result<BuildAnswer> result, bool kept) {
  if (!parts_.table.Close(build->ticket)) return;
  if (build->dry_run) return build->dry_run->done(result.error());
  const uint64_t id = IdOf(build->ticket);
  (result ? result->request_id : result.error().request_id) = id;
  if (kept) NoteAnswered(*build, result->key);
  if (parts_.observe) {
    const auto total = std::chrono::steady_clock::now() - build->called;
    parts_.observe({build->peer, build->request->kind(),
                    std::chrono::duration_cast<std::chrono::microseconds>(total), result,
                    build->flight.leads, id});
  }
  build->done(std::move(result));
}

void Responder::Refuse(BuildPtr build, const Error& error) {
  if (!build->dry_run) parts_.statistics.Add(Counter::kRefused);
  Answer(std::move(build), error);
}

void Responder::Explain(BuildPtr build, Explanation explanation) {
  if (parts_.table.Close(build->ticket)) build->dry_run->done(std::move(explanation));
}

void Responder::AnswerQuarantined(BuildPtr build) {
  const QuarantinedPtr died = build->findings.quarantine;
  if (!build->dry_run) return Answer(std::move(build), died->NotTriedAgain());
  Explain(std::move(build), {.verdict = Verdict::kFailed, .reason = died->error.message});
}

void Responder::AnswerFailure(BuildPtr build) {
  const KnownFailurePtr failed = build->findings.failure;
  if (build->dry_run) {
    return Explain(std::move(build),
                   {.verdict = Verdict::kFailed, .reason = failed->output.Reason()});
  }
  parts_.statistics.Add(Counter::kRememberedFailures);
  BuildAnswer answer = AnswerOf(*build->plan, failed->output);
  answer.remembered = true;
  Answer(std::move(build), std::move(answer), false);
}

void Responder::AnswerHit(BuildPtr build, const FlightResult& hit, const Closure& closure) {
  const std::chrono::microseconds compile_time = hit.output.artifact->compile_time;
  BuildAnswer answer = AnswerOf(*build->plan, hit.output);
  answer.key = hit.key;
  answer.outcome = build->flight.outcome_if_cached;
  answer.closed = IsOfToolchain(closure);
  if (answer.outcome == Outcome::kHit) {
    const auto& elsewhere = build->questions.fetched;
    answer.tier = elsewhere && elsewhere->key == hit.key ? elsewhere->tier : hit.tier;
    parts_.statistics.Add(HitsOf(answer.tier));
  } else {
    answer.compile_time = compile_time;
    if (answer.outcome == Outcome::kJoined) parts_.statistics.Add(Counter::kJoins);
  }
  if (answer.outcome != Outcome::kBuilt) {
    answer.saved_time = compile_time;
    if (compile_time.count() == 0) parts_.statistics.Add(Counter::kSavedUnknown);
    parts_.statistics.Add(Counter::kSavedMicroseconds, compile_time.count());
  }
  Answer(std::move(build), std::move(answer), true);
}

void Responder::AnswerFlight(BuildPtr build, const FlightResult& flight_result) {
  if (flight_result.error) {
    Error error = *flight_result.error;
    error.message = WithClientNames(*build->plan, error.message);
    return Answer(std::move(build), error);
  }
  if (flight_result.tier != TierName::kNone)
    return AnswerHit(std::move(build), flight_result, flight_result.closure);
  BuildAnswer answer = AnswerOf(*build, flight_result);
  Record(*build, answer, flight_result);
  if (build->flight.leads && answer.outcome == Outcome::kFailed) {
    parts_.statistics.Add(Counter::kCompileFailures);
  } else if (build->flight.leads && answer.outcome == Outcome::kUncacheable) {
    parts_.statistics.Add(Counter::kUncacheable);
  } else if (answer.outcome == Outcome::kJoined) {
    parts_.statistics.Add(Counter::kJoins);
    answer.saved_time = flight_result.compile_time;
    parts_.statistics.Add(Counter::kSavedMicroseconds, flight_result.compile_time.count());
  }
  Answer(std::move(build), std::move(answer),
         flight_result.keepable() && flight_result.output.succeeded);
}

void Responder::NoteAnswered(const Build& build, const Digest& key) {
  if (parts_.answered == nullptr) return;
  const BuildPlan& plan = *build.plan;
  const Toolchain& toolchain = *plan.job.toolchain;
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  parts_.answered->Note(build.peer.uid, {key, plan.fingerprint, toolchain.id, toolchain.version(),
                                         ArchOf(plan), now});
}

void Responder::Record(const Build& build, const BuildAnswer& answer,
                       const FlightResult& flight_result) {
  const uid_t uid = build.peer.uid;
  // A compile is recorded once for each user, even if several builds of the user waited for it.
  if (!build.flight.leads && parts_.history.Knows(uid, answer.key)) return;
  PastBuild past = MarkOf(*build.plan);
  past.key = answer.key;
  past.outcome = answer.outcome;
  past.reason = answer.reason;
  past.time = std::chrono::system_clock::now();
  past.compile_time = answer.compile_time;
  past.closure = std::make_shared<const Closure>(flight_result.closure);
  parts_.history.Add(uid, build.peer.account(), std::move(past));
}

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

BuildAnswer AnswerOf(const Build& build, const FlightResult& flight_result) {
  using std::chrono::microseconds;
  BuildAnswer answer = AnswerOf(*build.plan, flight_result.output);
  answer.key = KeyOf(build.plan->fingerprint, flight_result.closure);
  answer.compile_time = flight_result.compile_time;
  answer.queue_time = std::max(microseconds{0}, std::chrono::duration_cast<microseconds>(
                                                    flight_result.started - build.flight.joined));
  if (!flight_result.output.succeeded) return answer;
  if (!flight_result.keepable()) {
    answer.outcome = Outcome::kUncacheable;
    answer.reason = UncacheableReason(flight_result);
  } else if (!build.flight.leads) {
    answer.outcome = Outcome::kJoined;
  }
  answer.closed = flight_result.keepable() && IsOfToolchain(flight_result.closure);
  return answer;
}

}  // namespace cccl_cache::daemon
