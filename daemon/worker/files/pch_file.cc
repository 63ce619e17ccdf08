// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/files/pch_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "daemon/worker/files/real_files.h"

namespace cccl_cache::daemon {

PchFile::PchFile(int fd, PchUse use) : fd_(fd), use_(use) {
  struct stat status;
  if (use != PchUse::kRead || real_files::Stat(fd, &status) != 0) return;
  void* address = real_files::Map(nullptr, static_cast<size_t>(status.st_size),
                                  PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
  if (address == MAP_FAILED) return;  // the contents are copied then
  mapped_ = static_cast<char*>(address);
  size_ = static_cast<size_t>(status.st_size);
}

int PchFile::Open(int flags) {
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  if (use_ != (writes ? PchUse::kWrite : PchUse::kRead) || opened_ >= 0) return -ENOENT;
  if (writes && ftruncate(fd_, 0) != 0) return -errno;
  if (lseek(fd_, 0, SEEK_SET) != 0) return -errno;
  const int opened = fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  if (opened < 0) return -errno;
  if (!writes) opened_ = opened;
  just_opened_ = true;
  return opened;
}

int PchFile::Stat(struct stat* status) {
  if (!std::exchange(just_opened_, false)) return -ENOENT;
  return real_files::Stat(fd_, status);
}

bool PchFile::MoveTo(void* address, size_t length, int fd, off_t offset) const {
  const auto begin = static_cast<size_t>(offset);
  if (fd != opened_ || mapped_ == nullptr || offset < 0 || begin > size_ ||
      length > size_ - begin) {
    return false;
  }
  return mremap(mapped_ + begin, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, address) == address;
}

}  // namespace cccl_cache::daemon
