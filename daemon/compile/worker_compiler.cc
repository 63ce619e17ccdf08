// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/worker_compiler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/child_process.h"
#include "base/poll.h"
#include "daemon/compile/file_service.h"
#include "daemon/compile/protocol/frame.h"
#include "daemon/compile/protocol/job.h"
#include "daemon/compile/toolchain_files.h"
#include "daemon/compile/verdict.h"
#include "daemon/compile/worker_session.h"

namespace cccl_cache::daemon {
namespace {

/// Returns whether the job may run without a sandbox: only for the daemon itself and its own user.
bool NeedsNoSandbox(const CompileJob& job) { return !job.requester || *job.requester == geteuid(); }

Error NobodyElseIsServed() {
  return Error{ErrorCode::kDenied,
               "this daemon compiles for its own user alone: its kernel, or the container or "
               "service that it runs in, has no seccomp, so other users' programs can't be "
               "confined; allow seccomp there, or run a daemon of your own"};
}

/// Returns the files that the worker may ask for; null: none.
std::shared_ptr<JobFiles> FilesFor(const CompileJob& job, SandboxKind sandbox) {
  if (sandbox != SandboxKind::kOpensNothing) return job.files;
  return std::make_shared<ToolchainFiles>(job);
}

Error Useless(std::string_view why) {
  return Error{.code = ErrorCode::kUnavailable,
               .message = fmt::format("a precompiled header is of no use: {}", why),
               .useless_precompiled = true};
}

constexpr uint64_t kBlockBytes = 512;  // unit of st_blocks, on every file system

Error Failed(const char* what) {
  return Error{ErrorCode::kUnavailable,
               fmt::format("{} a precompiled header: {}", what, strerror(errno))};
}

}  // namespace

WorkerCompiler::WorkerCompiler(std::string worker_path, ZygoteOptions options,
                               ZygotePool::ReportFunction report, std::shared_ptr<JobMemory> memory)
    : pool_(std::move(worker_path), options, std::move(report)), memory_(std::move(memory)) {}

Result<CompileOutput> WorkerCompiler::Compile(const CompileJob& job, const CompileLimits& limits,
                                              std::stop_token stop) {
  if (job.precompiled == nullptr) return Run(job, limits, std::move(stop), nullptr);
  // The cast is safe: all Precompiled objects of this compiler were made by Precompile().
  const auto& header = static_cast<const PrecompiledHeader&>(*job.precompiled);
  const FileDescriptor file = header.OpenForWorker();
  const Pch pch{PchUse::kRead, file.get(), header.zygote()};
  if (!file.valid() || pch.zygote == nullptr) return Useless("it can't be handed over");
  Result<CompileOutput> output = Run(job, limits, std::move(stop), &pch);
  if (output.ok() && output->artifact->log.find(kPchName) != std::string::npos) {
    return Useless("the program does not begin as it must");
  }
  return output;
}

Result<std::shared_ptr<const Precompiled>> WorkerCompiler::Precompile(const CompileJob& job,
                                                                      const CompileLimits& limits,
                                                                      std::stop_token stop) {
  const CompileLimits started = limits.Started();
  Result<PchDraft> draft = PchDraft::Make();
  if (!draft) return draft.error();
  const Result<std::shared_ptr<Zygote>> zygote =
      pool_.Acquire(*job.toolchain, job.account, *started.deadline, stop);
  if (!zygote) return zygote.error();
  const Pch pch{PchUse::kWrite, draft->fd(), *zygote};
  const Result<CompileOutput> output = Run(job, started, std::move(stop), &pch);
  if (!output) return output.error();
  if (!output->succeeded) return Useless("the compiler fails on it: " + output->native_name);
  if (!output->artifact->log.empty()) return Useless("the compiler has something to say about it");
  return std::move(*draft).Seal(*zygote);
}

Result<CompileOutput> WorkerCompiler::Run(const CompileJob& job, const CompileLimits& limits,
                                          std::stop_token stop, const Pch* pch) {
  const CompileLimits started = limits.Started();
  const StopEvent stop_event(stop);
  if (!stop_event.valid()) {
    return Error{ErrorCode::kUnavailable, std::string("starting a compile: ") + strerror(errno)};
  }
  Result<FileDescriptor> sealed_job = SealJob(job);
  if (!sealed_job) return sealed_job.error();
  const Work work{job, started, *sealed_job, stop_event.fd(), stop, pch};
  if (pch != nullptr) return RunWorker(work, pch->zygote).output;
  Attempt attempt = RunAnywhere(work, stop);
  if (!attempt.again) return std::move(attempt.output);
  return RunAnywhere(work, stop).output;
}

WorkerCompiler::Attempt WorkerCompiler::RunAnywhere(const Work& work, const std::stop_token& stop) {
  const Result<std::shared_ptr<Zygote>> zygote =
      pool_.Acquire(*work.job.toolchain, work.job.account, *work.limits.deadline, stop);
  if (!zygote) return Retryable(zygote.error());
  return RunWorker(work, *zygote);
}

WorkerCompiler::Attempt WorkerCompiler::RunWorker(const Work& work,
                                                  const std::shared_ptr<Zygote>& zygote) {
  const auto& [job, limits, sealed_job, stop_fd, stop, pch] = work;
  const SandboxKind sandbox = zygote->sandbox().sandbox;
  if (sandbox == SandboxKind::kNone && !NeedsNoSandbox(job)) return {NobodyElseIsServed()};
  const std::shared_ptr<JobFiles> asked = FilesFor(job, sandbox);
  Result<WorkerSockets> sockets = zygote->Spawn({.job = sealed_job,
                                                 .memory_bytes = limits.memory_bytes,
                                                 .asks = asked != nullptr,
                                                 .may_lack_sandbox = NeedsNoSandbox(job),
                                                 .background = job.background,
                                                 .bundled_headers = job.bundled_headers,
                                                 .pch = pch != nullptr ? pch->use : PchUse::kNone,
                                                 .pch_fd = pch != nullptr ? pch->fd : -1});
  if (!sockets) {
    pool_.Discard(zygote, sockets.error().message);
    return Retryable(sockets.error());
  }
  std::optional<FileService> files;
  if (asked != nullptr)
    files.emplace(std::move(sockets->files), asked, HungReadsOf{hung_reads_, job.account});
  JobMemory::Share memory;
  ReplyBuffer reply(kMaxReplyBytes, [&](uint64_t bytes) -> Status {
    Result<JobMemory::Share> taken = TakeMemory(work, bytes);
    if (!taken) return taken.error();
    memory = *std::move(taken);
    return Ok{};
  });
  WorkerSession session(*std::move(sockets), std::move(reply), files ? &*files : nullptr);
  SessionEnd end = session.Run(stop_fd, *limits.deadline);
  if (job.peak_bytes != nullptr && end.exited) {
    *job.peak_bytes = std::max(*job.peak_bytes, end.exited->peak_resident_bytes);
  }
  if (end.zygote_lost || end.cause == SessionEnd::Cause::kSpawnFailed) {
    pool_.Discard(zygote, end.detail);
  }
  if (end.exited && WIFSIGNALED(end.exited->wait_status) &&
      IsOwnSignal(WTERMSIG(end.exited->wait_status))) {
    // All workers of a zygote have the same memory layout and stack canary, and the crash may be an
    // attempt to guess them. The zygote is therefore replaced. Other users wait once for the new
    // one.
    pool_.KeepApart(*job.toolchain, job.account);
    pool_.Discard(zygote, "a compile died by " + DescribeWaitStatus(end.exited->wait_status));
  }
  // No retry after a question that hangs, because JobFiles answers one question at a time. No retry
  // after a refusal, because the client must see its error.
  const bool files_used_up = end.files_in_use || end.refusal;
  Result<CompileOutput> output = Judge(job, limits, std::move(end));
  if (output.ok()) output->memory = std::move(memory);
  if (output.ok() || files_used_up) return {std::move(output)};
  return Retryable(output.error());
}

Result<JobMemory::Share> WorkerCompiler::TakeMemory(const Work& work, uint64_t bytes) {
  if (memory_ == nullptr) return JobMemory::Share();
  return memory_->Take(work.job.account, bytes, *work.limits.deadline, work.stop);
}

WorkerCompiler::Attempt WorkerCompiler::Retryable(Error error) {
  // The zygote may have died before the job or because of it. If a second attempt with a new zygote
  // fails too, the job is the reason.
  const bool again = error.code == ErrorCode::kUnavailable;
  return {std::move(error), again};
}

bool WorkerCompiler::KeepsApart(const Toolchain& toolchain, Account account) {
  return pool_.IsKeptApart(toolchain, account);
}

Status WorkerCompiler::Warm(const Toolchain& toolchain) {
  Result<std::shared_ptr<Zygote>> zygote =
      pool_.Acquire(toolchain, Account(geteuid()), ZygotePool::Clock::time_point::max(), {});
  if (!zygote) return zygote.error();
  return Ok{};
}

void WorkerCompiler::KeepOnly(std::span<const ToolchainPtr> toolchains) {
  pool_.KeepOnly(toolchains);
}

Result<FileDescriptor> SealJob(const CompileJob& job) {
  FileDescriptor memory(memfd_create("cccl-cached-job", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.valid()) {
    return Error{ErrorCode::kUnavailable, fmt::format("handing over a job: {}", strerror(errno))};
  }
  if (const int error = EncodeJob(job).WriteTo(memory.get())) {
    return Error{ErrorCode::kUnavailable, fmt::format("handing over a job: {}", strerror(error))};
  }
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
  if (fcntl(memory.get(), F_ADD_SEALS, kSeals) != 0) {
    return Error{ErrorCode::kUnavailable, fmt::format("sealing a job: {}", strerror(errno))};
  }
  return memory;
}

Result<PchDraft> PchDraft::Make() {
  FileDescriptor memory(memfd_create("cccl-cached-pch", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.valid()) return Failed("making");
  return PchDraft(std::move(memory));
}

Result<std::shared_ptr<const Precompiled>> PchDraft::Seal(
    const std::shared_ptr<Zygote>& zygote) && {
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
  if (fcntl(memory_.get(), F_ADD_SEALS, kSeals) != 0) return Failed("sealing");
  struct stat status;
  if (fstat(memory_.get(), &status) != 0) return Failed("looking at");
  if (status.st_size == 0) {
    return Error{ErrorCode::kUnavailable, "the compiler wrote no precompiled header"};
  }
  // Holes in the file and blocks after its end may take memory later.
  const uint64_t bytes = std::max(static_cast<uint64_t>(status.st_size),
                                  static_cast<uint64_t>(status.st_blocks) * kBlockBytes);
  return std::shared_ptr<const Precompiled>(
      std::make_shared<const PrecompiledHeader>(std::move(memory_), bytes, zygote));
}

std::shared_ptr<Zygote> PrecompiledHeader::zygote() const {
  std::shared_ptr<Zygote> zygote = zygote_.lock();
  return zygote != nullptr && zygote->Usable() ? zygote : nullptr;
}

FileDescriptor PrecompiledHeader::OpenForWorker() const {
  // Reopened for each worker, because duplicated descriptors share one offset.
  const std::string path = fmt::format("/proc/self/fd/{}", memory_.get());
  return FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

}  // namespace cccl_cache::daemon
