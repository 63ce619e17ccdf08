// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/pch_heap.h"

#include <sys/mman.h>

#include "daemon/compile/protocol/job.h"
#include "daemon/core/model/file_descriptor.h"
#include "daemon/worker/compilers/compiler_jobs.h"
#include "daemon/worker/file_functions.h"
#include "daemon/worker/files/file_view.h"

namespace cccl_cache::daemon {

void ReservePchHeap(const NvrtcLibrary& nvrtc) {
  if (nvrtc.set_pch_heap_size == nullptr ||
      nvrtc.set_pch_heap_size(kPchHeapBytes) != NvrtcLibrary::kSuccess) {
    return;
  }
  // The library reserves it when it first parses into it.
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
