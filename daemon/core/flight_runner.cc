// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/flight_runner.h"

#include <fmt/format.h>

namespace cccl_cached {
namespace {

using Clock = std::chrono::steady_clock;

std::string DescribeOutside(const OutsideFile& file) {
  switch (file.answer) {
    case OutsideFile::Answer::kGiven:
      return fmt::format("the compiler read {}, which lies outside the toolchain", file.path);
    case OutsideFile::Answer::kAbsent:
      return fmt::format("the compiler looked for {}, which lies outside the toolchain", file.path);
    case OutsideFile::Answer::kDenied:
      break;
  }
  return fmt::format(
      "the compiler asked for {}, which lies outside the toolchain, and the daemon opens such "
      "files "
      "only for its own user; send the header inside the request, or run a daemon of your own",
      file.path);
}

void JudgeOutside(const CompileJob& job, Landing* landing) {
  const std::vector<OutsideFile>& outside = landing->output.outside;
  if (outside.empty()) return;
  landing->looked_outside = true;
  const std::string what = DescribeOutside(outside.front());
  if (job.outside_files_allowed) {
    landing->uncacheable_reason = what;
  } else {
    landing->error = Error{ErrorCode::kFilesNeeded, what};
  }
}

}  // namespace

Landing FlightRunner::Run(const BuildPlan& plan, std::stop_token stop) {
  Landing landing;
  landing.started = Clock::now();
  landing.uncacheable_reason = plan.uncacheable_reason;
  const Toolchain& toolchain = *plan.job.toolchain;
  landing.toolchain_changed = !toolchains_.Unchanged(toolchain);
  if (landing.toolchain_changed) {
    landing.error =
        Error{ErrorCode::kUnavailable,
              "the toolchain keeps changing on disk; try again when its installation is "
              "complete"};
    return landing;
  }
  statistics_.Add(Counter::kCompiles);
  Result<CompileOutput> output = CompileWithRetry(plan.job, stop);
  landing.compile_time =
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - landing.started);
  statistics_.Add(Counter::kCompileMicroseconds, landing.compile_time.count());
  landing.toolchain_changed = !toolchains_.Unchanged(toolchain);
  if (!output) {
    landing.error = output.error();
    return landing;
  }
  landing.output = *std::move(output);
  JudgeOutside(plan.job, &landing);
  landing.shows_paths = ShowsCanonicalNames(plan, *landing.output.artifact);
  return landing;
}

Result<CompileOutput> FlightRunner::CompileWithRetry(const CompileJob& job, std::stop_token stop) {
  const CompileLimits limits = limits_.Started();
  Result<CompileOutput> output = compiler_.Compile(job, limits, stop);
  Count(output);
  if (output.ok() || output.error().code != ErrorCode::kWorkerCrashed) return output;
  statistics_.Add(Counter::kRetries);
  output = compiler_.Compile(job, limits, stop);
  Count(output);
  return output;
}

void FlightRunner::Count(const Result<CompileOutput>& output) {
  if (output.ok()) return;
  switch (output.error().code) {
    case ErrorCode::kWorkerCrashed:
      return statistics_.Add(Counter::kWorkerCrashes);
    case ErrorCode::kTimedOut:
      return statistics_.Add(Counter::kTimeouts);
    case ErrorCode::kOutOfMemory:
      return statistics_.Add(Counter::kOutOfMemory);
    default:
      return;
  }
}

}  // namespace cccl_cached
