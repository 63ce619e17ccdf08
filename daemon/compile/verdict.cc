// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/verdict.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "base/child_process.h"
#include "daemon/compile/protocol/frame.h"
#include "daemon/compile/reply.h"

namespace cccl_cache::daemon {
namespace {

double Seconds(std::chrono::milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

std::string WaitingFor(const std::string& file) {
  if (file.empty()) return "";
  return fmt::format(", while it waited for \"{}\" to be opened: does its file system answer?",
                     file);
}

Error OutOfMemory(const CompileLimits& limits) {
  return Error{ErrorCode::kOutOfMemory,
               fmt::format("the compiler ran out of memory; its limit is {} MiB: make the program "
                           "smaller or raise the daemon's worker_memory_limit",
                           limits.memory_bytes >> 20)};
}

/// Returns whether the peak memory of a process was near its limit. Memory that the kernel refused
/// is not part of the peak, so the peak may stay below the limit.
bool NearLimit(uint64_t peak_bytes, const CompileLimits& limits) {
  return peak_bytes / 9 >= limits.memory_bytes / 10;
}

/// Returns whether the peak memory is so high that a lack of memory is the likeliest reason of a
/// failure.
bool HalfwayToLimit(uint64_t peak_bytes, const CompileLimits& limits) {
  return peak_bytes >= limits.memory_bytes / 2;
}

Error EndedBySignal(const Exited& exited, const CompileLimits& limits) {
  const int number = WTERMSIG(exited.wait_status);
  const uint64_t peak = exited.peak_resident_bytes;
  // C++ calls abort() if it runs out of memory. A SIGKILL that the daemon did not send usually
  // comes from the kernel's out-of-memory killer.
  const bool telling = number == SIGABRT || number == SIGKILL;
  const bool refused = exited.refused_memory && number != SIGSYS;
  if (refused || NearLimit(peak, limits) || (telling && HalfwayToLimit(peak, limits))) {
    return OutOfMemory(limits);
  }
  if (number == SIGXCPU) {
    return Error{ErrorCode::kTimedOut, "the compiler used up the processor time that it may use"};
  }
  std::string why;
  if (number == SIGSYS) why = ": it made a system call that no compiler makes";
  if (number == SIGKILL) why = ": somebody killed it, or the machine ran out of memory";
  return Error{.code = ErrorCode::kWorkerCrashed,
               .message = fmt::format("the compiler died by {}{}",
                                      DescribeWaitStatus(exited.wait_status), why),
               .own_signal = IsOwnSignal(number)};
}

/// Returns whether the compiler reported a failure because it ran out of memory.
bool FailedForMemory(BuildKind kind, const WorkerReply& reply) {
  const auto says = [&](std::string_view text) {
    return reply.log.find(text) != std::string::npos;
  };
  switch (kind) {
    case BuildKind::kNvrtc:  // the log spells the message in one of two ways
      return reply.native_name == "NVRTC_ERROR_OUT_OF_MEMORY" ||
             says("catastrophic error: out of memory") || says("Catastrophic error: out of memory");
    case BuildKind::kLink:  // nvJitLink has no result code for it
      return says("out of memory");
    case BuildKind::kNvvm:
      return reply.native_name == "NVVM_ERROR_OUT_OF_MEMORY" || says("out of memory");
  }
  return false;
}

Result<CompileOutput> JudgeExit(const CompileJob& job, const CompileLimits& limits,
                                SessionEnd end) {
  const Exited& exited = *end.exited;
  if (WIFSIGNALED(exited.wait_status)) return EndedBySignal(exited, limits);
  if (WEXITSTATUS(exited.wait_status) == kExitNotStarted) {
    return Error{ErrorCode::kUnavailable, "a worker could not be set up; see the daemon's limits"};
  }
  if (WEXITSTATUS(exited.wait_status) == kExitNoSandbox) {
    return Error{ErrorCode::kUnavailable,
                 "a worker could not confine itself, so it compiled nothing: the container or "
                 "service that the daemon runs in lets seccomp or Landlock be prepared, but not "
                 "be entered; allow both there, or neither"};
  }
  if (exited.refused_memory && (exited.wait_status != 0 || !end.payload)) {
    return OutOfMemory(limits);
  }
  if (exited.wait_status != 0) {
    return Error{ErrorCode::kWorkerCrashed, fmt::format("the compiler's process ended with {}",
                                                        DescribeWaitStatus(exited.wait_status))};
  }
  if (!end.payload) {
    return Error{ErrorCode::kWorkerCrashed, "the compiler's process ended without an answer"};
  }
  Result<WorkerReply> reply = DecodeReply(*std::move(end.payload));
  if (!reply) return reply.error();
  const Status plausible = CheckReply(job, *reply);
  if (!plausible) return plausible.error();
  const uint64_t peak = std::max(exited.peak_resident_bytes, reply->peak_resident_bytes);
  if (!reply->succeeded && (exited.refused_memory || NearLimit(peak, limits) ||
                            FailedForMemory(job.request->kind(), *reply))) {
    return OutOfMemory(limits);
  }
  return OutputOf(*std::move(reply), end.duration);
}

}  // namespace

bool IsOwnSignal(int number) {
  return number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE ||
         number == SIGABRT || number == SIGTRAP || number == SIGSYS;
}

Result<CompileOutput> Judge(const CompileJob& job, const CompileLimits& limits, SessionEnd end) {
  switch (end.cause) {
    case SessionEnd::Cause::kExited:
      return JudgeExit(job, limits, std::move(end));
    case SessionEnd::Cause::kStopped:
      return Error{ErrorCode::kCancelled, "the compile was ended: no caller waits for it any more"};
    case SessionEnd::Cause::kDeadline:
      return Error{ErrorCode::kTimedOut,
                   fmt::format("the compile was ended after its limit of {} s{}; the daemon's "
                               "build_timeout can be raised",
                               Seconds(limits.time), WaitingFor(end.detail))};
    case SessionEnd::Cause::kBadReply:
    case SessionEnd::Cause::kFilesRefused:
      return *end.refusal;
    case SessionEnd::Cause::kStayed:
      return Error{ErrorCode::kWorkerCrashed, "the worker answered and did not end"};
    case SessionEnd::Cause::kSpawnFailed:
      return Error{ErrorCode::kUnavailable, "no worker could be started: " + end.detail};
    case SessionEnd::Cause::kZygoteLost:
      return Error{ErrorCode::kUnavailable,
                   "the process that starts workers was lost: " + end.detail};
  }
  return Error{ErrorCode::kUnavailable, "a worker ended in an unknown way"};
}

CompileOutput OutputOf(WorkerReply reply, std::chrono::microseconds compile_time) {
  auto artifact = std::make_shared<Artifact>();
  for (WorkerReply::Part& part : reply.parts) {
    const Digest sha256 = Sha256(part.bytes);
    artifact->parts.push_back({part.kind, std::move(part.bytes), sha256});
  }
  artifact->lowered_names = std::move(reply.lowered_names);
  artifact->log = std::move(reply.log);
  artifact->compile_time = compile_time;
  return CompileOutput{.succeeded = reply.succeeded,
                       .native_code = reply.native_code,
                       .native_name = std::move(reply.native_name),
                       .artifact = std::move(artifact),
                       .architectures = std::move(reply.architectures)};
}

}  // namespace cccl_cache::daemon
