// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/worker_compiler.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "daemon/compile/frame.h"
#include "daemon/compile/sealed_job.h"
#include "daemon/compile/stop_event.h"
#include "daemon/compile/verdict.h"
#include "daemon/compile/worker_session.h"

namespace cccl_cached {

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
  Result<CompileOutput> output = RunWorker(job, started, stop, *sealed_job, stop_event.fd());
  // A zygote may die between two jobs, or with one: a fresh one decides.
  if (output.ok() || output.error().code != ErrorCode::kUnavailable) return output;
  return RunWorker(job, started, stop, *sealed_job, stop_event.fd());
}

Result<CompileOutput> WorkerCompiler::RunWorker(const CompileJob& job, const CompileLimits& limits,
                                                std::stop_token stop,
                                                const FileDescriptor& sealed_job, int stop_fd) {
  Result<std::shared_ptr<Zygote>> zygote =
      pool_.Acquire(*job.toolchain, *limits.deadline, std::move(stop));
  if (!zygote) return zygote.error();
  Result<WorkerSockets> sockets = (*zygote)->Spawn(sealed_job, limits.memory_bytes);
  if (!sockets) {
    pool_.Discard(*zygote, sockets.error().message);
    return sockets.error();
  }
  WorkerSession session(*std::move(sockets), std::min(kMaxReplyBytes, limits.memory_bytes));
  SessionEnd end = session.Run(stop_fd, *limits.deadline);
  if (end.zygote_lost || end.cause == SessionEnd::Cause::kSpawnFailed) {
    pool_.Discard(*zygote, end.detail);
  }
  return Judge(job, limits, std::move(end));
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
