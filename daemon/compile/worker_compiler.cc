// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/worker_compiler.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/compile/file_service.h"
#include "daemon/compile/frame.h"
#include "daemon/compile/sealed_job.h"
#include "daemon/compile/stop_event.h"
#include "daemon/compile/toolchain_files.h"
#include "daemon/compile/verdict.h"
#include "daemon/compile/worker_session.h"

namespace cccl_cached {
namespace {

/// Who may do all that a worker without a sandbox could do: what the daemon itself compiles, and
/// its own user.
bool NeedsNoSandbox(const CompileJob& job) { return !job.requester || *job.requester == geteuid(); }

Error NobodyElseIsServed() {
  return Error{ErrorCode::kDenied,
               "this daemon compiles for its own user alone: its kernel, or the container or "
               "service that it runs in, has no seccomp, so other users' programs can't be "
               "confined; allow seccomp there, or run a daemon of your own"};
}

/// Whom the worker asks; null: it asks for nothing.
std::shared_ptr<JobFiles> FilesFor(const CompileJob& job, SandboxKind sandbox) {
  if (sandbox != SandboxKind::kOpensNothing) return job.files;
  return std::make_shared<ToolchainFiles>(job);
}

}  // namespace

WorkerCompiler::WorkerCompiler(std::string worker_path, ZygoteOptions options,
                               ZygotePool::ReportFunction report)
    : pool_(std::move(worker_path), options, std::move(report)) {}

Result<CompileOutput> WorkerCompiler::Compile(const CompileJob& job, const CompileLimits& limits,
                                              std::stop_token stop) {
  const CompileLimits started = limits.Started();
  const StopEvent stop_event(stop);
  if (!stop_event.valid()) {
    return Error{ErrorCode::kUnavailable, std::string("starting a compile: ") + strerror(errno)};
  }
  Result<FileDescriptor> sealed_job = SealJob(job);
  if (!sealed_job) return sealed_job.error();
  Attempt attempt = RunWorker(job, started, stop, *sealed_job, stop_event.fd());
  if (!attempt.again) return std::move(attempt.output);
  return RunWorker(job, started, stop, *sealed_job, stop_event.fd()).output;
}

WorkerCompiler::Attempt WorkerCompiler::RunWorker(const CompileJob& job,
                                                  const CompileLimits& limits, std::stop_token stop,
                                                  const FileDescriptor& sealed_job, int stop_fd) {
  // A zygote may die between two jobs, or with one: a fresh one decides.
  const auto retryable = [](Error error) {
    const bool again = error.code == ErrorCode::kUnavailable;
    return Attempt{std::move(error), again};
  };
  Result<std::shared_ptr<Zygote>> zygote =
      pool_.Acquire(*job.toolchain, *limits.deadline, std::move(stop));
  if (!zygote) return retryable(zygote.error());
  const SandboxKind sandbox = (*zygote)->sandbox().sandbox;
  if (sandbox == SandboxKind::kNone && !NeedsNoSandbox(job)) return {NobodyElseIsServed()};
  const std::shared_ptr<JobFiles> asked = FilesFor(job, sandbox);
  Result<WorkerSockets> sockets = (*zygote)->Spawn({.job = sealed_job,
                                                    .memory_bytes = limits.memory_bytes,
                                                    .asks = asked != nullptr,
                                                    .may_lack_sandbox = NeedsNoSandbox(job),
                                                    .background = job.background});
  if (!sockets) {
    pool_.Discard(*zygote, sockets.error().message);
    return retryable(sockets.error());
  }
  std::optional<FileService> files;
  if (asked != nullptr)
    files.emplace(std::move(sockets->files), asked,
                  HungReadsOf{hung_reads_, job.requester.value_or(geteuid())});
  WorkerSession session(*std::move(sockets), std::min(kMaxReplyBytes, limits.memory_bytes),
                        files ? &*files : nullptr);
  SessionEnd end = session.Run(stop_fd, *limits.deadline);
  if (end.zygote_lost || end.cause == SessionEnd::Cause::kSpawnFailed) {
    pool_.Discard(*zygote, end.detail);
  }
  // The files take one question at a time, and an error of theirs is for the caller to see.
  const bool files_used_up = end.files_in_use || end.refusal;
  Result<CompileOutput> output = Judge(job, limits, std::move(end));
  if (output.ok() || files_used_up) return {std::move(output)};
  return retryable(output.error());
}

Status WorkerCompiler::Warm(const Toolchain& toolchain) {
  Result<std::shared_ptr<Zygote>> zygote =
      pool_.Acquire(toolchain, ZygotePool::Clock::time_point::max(), {});
  if (!zygote) return zygote.error();
  return Ok{};
}

void WorkerCompiler::KeepOnly(std::span<const ToolchainPtr> toolchains) {
  pool_.KeepOnly(toolchains);
}

}  // namespace cccl_cached
