// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/worker.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>
#include <utility>
#include <vector>

#include "base/files/file_descriptor.h"
#include "daemon/compile/protocol/job.h"
#include "daemon/worker/compilers/compiler_jobs.h"
#include "daemon/worker/file_functions.h"
#include "daemon/worker/files/file_client.h"
#include "daemon/worker/files/file_view.h"
#include "daemon/worker/files/memory_files.h"
#include "daemon/worker/files/real_files.h"

namespace cccl_cache::daemon {
namespace {

/// Number of memory files of a job. They are made before the sandbox, which forbids new ones
/// because RLIMIT_DATA does not count them. NVRTC has been observed to use one at a time.
constexpr size_t kMemoryFiles = 8;
/// For a job with a precompiled header, whose files may be larger (isolation.cc).
constexpr size_t kMemoryFilesWithPch = 2;

[[noreturn]] void Refuse() { _exit(kExitNotStarted); }
[[noreturn]] void RefuseOutsideSandbox() { _exit(kExitNoSandbox); }

std::string_view MapJob(int fd) {
  struct stat status;
  if (real_files::Stat(fd, &status) != 0 || status.st_size <= 0) Refuse();
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

/// Enters the sandbox, and returns the job's scratch files. The job is not read before that. If the
/// kernel has no seccomp, the worker exits unless the daemon permits a worker without one.
std::vector<FileDescriptor> EnterSandbox(const WorkerSetup& setup) {
  const bool none = setup.sandbox.kind() == SandboxKind::kNone;
  if (none && !setup.may_lack_sandbox) RefuseOutsideSandbox();
  if (!setup.sandbox.LimitReach()) RefuseOutsideSandbox();
  if (!KeepOnly({setup.job, setup.reply, setup.files, setup.pch, setup.null_device})) Refuse();
  std::vector<FileDescriptor> scratch =
      ScratchFiles::MakeAhead(setup.pch >= 0 ? kMemoryFilesWithPch : kMemoryFiles);
  if (!setup.sandbox.LimitCalls()) RefuseOutsideSandbox();
  return scratch;
}

WorkerReply RunWithFileView(const WorkerJob& job, const WorkerSetup& setup,
                            FileView::Others others) {
  FileClient files(kFilesFd);
  const bool asks_for_all = setup.sandbox.kind() == SandboxKind::kOpensNothing;
  if (setup.files >= 0) others.asked = &files;
  FileView view(job, asks_for_all ? std::vector<std::string>() : setup.trusted_directories,
                std::move(others));
  UseFileView(&view);
  WorkerReply reply = RunCompilerJob(job, setup.libraries, setup.pch_use);
  UseFileView(nullptr);
  reply.peak_resident_bytes = PeakResidentBytes();
  return reply;
}

void Send(const WorkerReply& reply) {
  const ByteWriter payload = EncodeReply(reply);
  ByteWriter frame;
  frame.Bytes(EncodeFrameHeader(payload.size()));
  if (frame.WriteTo(kReplyFd) != 0 || payload.WriteTo(kReplyFd) != 0) _exit(kExitReplyLost);
}

}  // namespace

void RunWorker(const WorkerSetup& setup) {
  if (!Isolate(setup.limits)) Refuse();
  const std::string_view bytes = MapJob(setup.job);  // before the sandbox, which forbids to map
                                                     // files
  PchFile pch(setup.pch, setup.pch_use);
  std::vector<FileDescriptor> scratch = EnterSandbox(setup);
  pch.Renumber(kPchFd);
  Result<WorkerJob> job = DecodeJob(bytes);
  if (!job) Refuse();
  // Without Landlock the worker must not open files. Without mounts, it asks the daemon for the
  // toolchain's headers too.
  if (setup.sandbox.kind() == SandboxKind::kOpensNothing) job->mounts.clear();
  Send(RunWithFileView(
      *job, setup, {.pch = &pch, .bundled = setup.bundled_headers, .scratch = std::move(scratch)}));
  _exit(
      0);  // without the exit handlers of the zygote: those which NVRTC registered may delete files
}

void ReservePchHeap(const NvrtcLibrary& nvrtc) {
  if (nvrtc.set_pch_heap_size == nullptr ||
      nvrtc.set_pch_heap_size(kPchHeapBytes) != NvrtcLibrary::kSuccess) {
    return;
  }
  // The library reserves the memory during the first compile with a precompiled header. So this job
  // writes one.
  const FileDescriptor memory(memfd_create("warm-up", MFD_CLOEXEC));
  if (!memory.valid()) return;
  WorkerJob job;
  job.visible_working_directory = "/cccl-work";
  job.program_name = "/cccl-work/warm-up.cu";
  job.source = "#define WARM_UP\n";
  PchFile pch(memory.get(), PchUse::kWrite);
  FileView view(job, {}, {.pch = &pch});
  UseFileView(&view);
  [[maybe_unused]] const WorkerReply reply = RunNvrtcJob(job, nvrtc, PchUse::kWrite);
  UseFileView(nullptr);
}

}  // namespace cccl_cache::daemon
