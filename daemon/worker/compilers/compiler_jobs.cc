// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/compilers/compiler_jobs.h"

namespace cccl_cache::daemon {
namespace {

WorkerReply NoLibrary(const char* name) {
  return {.native_code = -1,
          .native_name = "NO_LIBRARY",
          .log = std::string("the toolchain has no ") + name};
}

}  // namespace

WorkerReply RunCompilerJob(const WorkerJob& job, const CompilerLibraries& libraries, PchUse pch) {
  switch (job.kind) {
    case cccl_cache::BuildKind::kNvrtc:
      return libraries.nvrtc ? RunNvrtcJob(job, *libraries.nvrtc, pch) : NoLibrary("NVRTC");
    case cccl_cache::BuildKind::kLink:
      return libraries.nvjitlink ? RunLinkJob(job, *libraries.nvjitlink) : NoLibrary("nvJitLink");
    case cccl_cache::BuildKind::kNvvm:
      return libraries.nvvm ? RunNvvmJob(job, *libraries.nvvm, libraries.libdevice)
                            : NoLibrary("libNVVM");
  }
  return NoLibrary("compiler of that kind");
}

}  // namespace cccl_cache::daemon
