// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/worker.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

#include "daemon/compile/job.h"
#include "daemon/worker/compiler_jobs.h"
#include "daemon/worker/file_client.h"
#include "daemon/worker/file_functions.h"
#include "daemon/worker/real_files.h"

namespace cccl_cached {
namespace {

[[noreturn]] void Refuse() { _exit(kExitNotStarted); }
[[noreturn]] void RefuseOutsideSandbox() { _exit(kExitNoSandbox); }

std::string_view MapJob(int fd) {
  struct stat status;
  if (real_files::StatAt(fd, "", &status, AT_EMPTY_PATH) != 0 || status.st_size <= 0) Refuse();
  const size_t size = static_cast<size_t>(status.st_size);
  void* address = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED) Refuse();
  return {static_cast<const char*>(address), size};
}

uint64_t PeakResidentBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

/// No byte of the job has been looked at yet. The daemon knows for whom it lets a worker do
/// without.
void EnterSandbox(const WorkerSetup& setup) {
  const bool none = setup.sandbox.kind() == SandboxKind::kNone;
  if (none && !setup.may_lack_sandbox) RefuseOutsideSandbox();
  if (!setup.sandbox.LimitReach()) RefuseOutsideSandbox();
  if (!KeepOnly({setup.job, setup.reply, setup.files, setup.null_device})) Refuse();
  if (!setup.sandbox.LimitCalls()) RefuseOutsideSandbox();
}

WorkerReply RunWithFileView(const WorkerJob& job, const WorkerSetup& setup) {
  FileClient files(kFilesFd);
  const bool asks_for_all = setup.sandbox.kind() == SandboxKind::kOpensNothing;
  FileView view(job, asks_for_all ? std::vector<std::string>() : setup.trusted_directories,
                setup.files >= 0 ? &files : nullptr);
  UseFileView(&view);
  WorkerReply reply = RunCompilerJob(job, setup.libraries);
  UseFileView(nullptr);
  reply.peak_resident_bytes = PeakResidentBytes();
  return reply;
}

void Send(const WorkerReply& reply) {
  const WireWriter payload = EncodeReply(reply);
  WireWriter frame;
  frame.Raw(EncodeFrameHeader(payload.size()));
  if (!frame.WriteTo(kReplyFd) || !payload.WriteTo(kReplyFd)) _exit(kExitReplyLost);
}

}  // namespace

void RunWorker(const WorkerSetup& setup) {
  if (!Isolate(setup.limits)) Refuse();
  const std::string_view bytes = MapJob(setup.job);  // a sandboxed process maps no files
  EnterSandbox(setup);
  Result<WorkerJob> job = DecodeJob(bytes);
  if (!job) Refuse();
  // Then the toolchain's own headers too are asked for, not taken.
  if (setup.sandbox.kind() == SandboxKind::kOpensNothing) job->mounts.clear();
  Send(RunWithFileView(*job, setup));
  _exit(
      0);  // without destructors and exit handlers: they are the zygote's, and NVRTC's delete files
}

}  // namespace cccl_cached
