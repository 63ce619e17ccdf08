// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/files/memory_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

namespace cccl_cache::daemon {

int OpenInMemory(FileDescriptor memory, std::string_view contents) {
  rlimit limit;
  // To write past it is a deadly signal.
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || contents.size() > limit.rlim_cur) return -EFBIG;
  if (!memory.valid()) return -EMFILE;
  for (std::string_view left = contents; !left.empty();) {
    const ssize_t written = write(memory.get(), left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return -errno;
    left.remove_prefix(static_cast<size_t>(written));
  }
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
  if (fcntl(memory.get(), F_ADD_SEALS, kSeals) != 0) return -errno;
  if (lseek(memory.get(), 0, SEEK_SET) != 0) return -errno;
  return memory.Release();
}

}  // namespace cccl_cache::daemon
