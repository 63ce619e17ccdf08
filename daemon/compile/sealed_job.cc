// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/sealed_job.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "daemon/compile/protocol/job.h"

namespace cccl_cache::daemon {

Result<FileDescriptor> SealJob(const CompileJob& job) {
  FileDescriptor memory(memfd_create("cccl-cached-job", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.valid()) {
    return Error{ErrorCode::kUnavailable, fmt::format("handing over a job: {}", strerror(errno))};
  }
  Status written = EncodeJob(job).WriteTo(memory.get());
  if (!written) return written.error();
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
  if (fcntl(memory.get(), F_ADD_SEALS, kSeals) != 0) {
    return Error{ErrorCode::kUnavailable, fmt::format("sealing a job: {}", strerror(errno))};
  }
  return memory;
}

}  // namespace cccl_cache::daemon
