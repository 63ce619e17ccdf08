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

/// Files outside the toolchain are still opened by the worker itself, where the daemon's own user
/// asked: the one thing of a job that is read before the sandbox is entered.
Sandbox::Reach ReachOf(std::string_view job) {
  const Result<WorkerJob> decoded = DecodeJob(job);
  return decoded.ok() && decoded->outside_files_allowed ? Sandbox::Reach::kWhateverTheDaemonCan
                                                        : Sandbox::Reach::kReadableDirectories;
}

uint64_t PeakResidentBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

/// Where the sandbox opens nothing, all is outside, the toolchain's own headers too: asked for, not
/// taken.
void AskForAll(WorkerJob& job) {
  for (WorkerJob::MountPoint& mount : job.mounts) mount.trusted = false;
}

WorkerReply RunWithFileView(const WorkerJob& job, const WorkerSetup& setup, bool opens_own) {
  FileClient files(kFilesFd);
  FileView view(job, opens_own ? setup.trusted_directories : std::vector<std::string>(),
                setup.files >= 0 ? &files : nullptr);
  UseFileView(&view);
  WorkerReply reply = RunCompilerJob(job, setup.libraries);
  UseFileView(nullptr);
  reply.outside = view.outside();
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
  const std::string_view bytes = MapJob(setup.job);
  const Sandbox::Reach reach = ReachOf(bytes);
  if (!setup.sandbox.LimitReach(reach)) RefuseOutsideSandbox();
  if (!KeepOnly({setup.job, setup.reply, setup.files, setup.null_device})) Refuse();
  if (!setup.sandbox.LimitCalls(reach)) RefuseOutsideSandbox();
  Result<WorkerJob> job = DecodeJob(bytes);
  if (!job) Refuse();
  const bool opens_own = setup.sandbox.OpensReadableDirectories(reach);
  if (!opens_own) AskForAll(*job);
  Send(RunWithFileView(*job, setup, opens_own));
  _exit(
      0);  // without destructors and exit handlers: they are the zygote's, and NVRTC's delete files
}

}  // namespace cccl_cached
