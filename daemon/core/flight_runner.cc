// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/flight_runner.h"

#include <atomic>
#include <memory>
#include <utility>

namespace cccl_cached {
namespace {

using Clock = std::chrono::steady_clock;

Counter CounterOf(CompilePurpose purpose) {
  switch (purpose) {
    case CompilePurpose::kCaller:
      return Counter::kCompiles;
    case CompilePurpose::kPathProof:
      return Counter::kPathProofs;
    case CompilePurpose::kShadowCheck:
      return Counter::kShadowChecks;
  }
  return Counter::kCompiles;
}

}  // namespace

Landing FlightRunner::Run(const BuildPlan& plan, const FlightOrder& order, std::stop_token stop) {
  Landing landing;
  landing.started = Clock::now();
  landing.uncacheable_reason = plan.uncacheable_reason;
  const Toolchain& toolchain = *plan.job.toolchain;
  landing.toolchain_changed = !parts_.toolchains.Unchanged(toolchain);
  if (landing.toolchain_changed) {
    landing.error =
        Error{ErrorCode::kUnavailable,
              "the toolchain keeps changing on disk; try again when its installation is "
              "complete"};
    return landing;
  }
  parts_.statistics.Add(CounterOf(order.purpose));
  Attempt attempt = CompileWithRetry(plan, order, stop);
  landing.compile_time =
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - landing.started);
  if (order.purpose == CompilePurpose::kCaller) {
    parts_.statistics.Add(Counter::kCompileMicroseconds, landing.compile_time.count());
  }
  landing.toolchain_changed = !parts_.toolchains.Unchanged(toolchain);
  Judge(plan, std::move(attempt), &landing);
  return landing;
}

void FlightRunner::Judge(const BuildPlan& plan, Attempt attempt, Landing* landing) {
  landing->looked_outside = attempt.record.asked;
  landing->closure = std::move(attempt.record.closure);
  landing->may_show_paths = attempt.ended_for_paths;
  landing->blames_input = attempt.blames_input;
  if (!attempt.output) {
    landing->error = attempt.output.error();
    return;
  }
  landing->output = *std::move(attempt.output);
  const std::string& time_token = attempt.record.traits.time_token;
  if (landing->uncacheable_reason.empty() && !time_token.empty()) {
    landing->uncacheable_reason = "the output can hold the time: " + time_token;
  }
  landing->shows_paths = ShowsCanonicalNames(plan, *landing->output.artifact);
}

FlightRunner::Attempt FlightRunner::CompileWithRetry(const BuildPlan& plan,
                                                     const FlightOrder& order,
                                                     std::stop_token stop) {
  const CompileLimits limits = limits_.Started();
  Attempt attempt = CompileOnce(plan, order, limits, stop);
  Count(attempt.output);
  if (attempt.output.ok() || attempt.output.error().code != ErrorCode::kWorkerCrashed) {
    return attempt;
  }
  const bool own_signal = attempt.output.error().own_signal;
  parts_.statistics.Add(Counter::kRetries);
  attempt = CompileOnce(plan, order, limits, stop);
  Count(attempt.output);
  attempt.blames_input = own_signal && !attempt.output && attempt.output.error().own_signal;
  return attempt;
}

FlightRunner::Attempt FlightRunner::CompileOnce(const BuildPlan& plan, const FlightOrder& order,
                                                const CompileLimits& limits, std::stop_token stop) {
  // Shared with the recorder, which may outlive this call if a disk hangs.
  const auto ended_for_paths = std::make_shared<std::atomic<bool>>(false);
  ClosureRecorder::Events events{.first_question = order.first_question};
  if (!plan.path_dependent && order.purpose == CompilePurpose::kCaller) {
    events.path_token = [ended_for_paths]() -> Status {
      *ended_for_paths = true;
      return Error{ErrorCode::kCancelled, "compiled again under the real paths"};
    };
  }
  const auto recorder = std::make_shared<ClosureRecorder>(
      parts_.files.Of(order.peer, plan.directories), plan.visible_roots, std::move(events));
  CompileJob job = plan.job;
  job.requester = order.peer.uid;
  job.files = recorder;
  job.background = order.purpose == CompilePurpose::kShadowCheck;
  Result<CompileOutput> output = parts_.compiler.Compile(job, limits, std::move(stop));
  return {.output = std::move(output),
          .record = recorder->Finish(),
          .ended_for_paths = *ended_for_paths};
}

void FlightRunner::Count(const Result<CompileOutput>& output) {
  if (output.ok()) return;
  switch (output.error().code) {
    case ErrorCode::kWorkerCrashed:
      return parts_.statistics.Add(Counter::kWorkerCrashes);
    case ErrorCode::kTimedOut:
      return parts_.statistics.Add(Counter::kTimeouts);
    case ErrorCode::kOutOfMemory:
      return parts_.statistics.Add(Counter::kOutOfMemory);
    default:
      return;
  }
}

}  // namespace cccl_cached
