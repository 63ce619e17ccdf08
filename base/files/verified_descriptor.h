// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <utility>

#include "base/files/file_descriptor.h"

namespace cccl_cache {

/// Moves an open file to a descriptor number above 2. With a number from 0 to 2, a process that has
/// closed its standard streams would write its output into the file.
inline FileDescriptor AboveStandardStreams(FileDescriptor opened) {
  if (opened.get() < 0 || opened.get() > STDERR_FILENO) return opened;
  return FileDescriptor(fcntl(opened.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

/// Owns a descriptor in a process where foreign code may close any descriptor, so that its number
/// may be reused. Get() identifies the open file by device and inode. The file must therefore have
/// an inode of its own, as a socket, a pipe or a file has. An eventfd, epoll set or timer has none:
/// these all share one inode. A reused number is never used and never closed. Move-only; Get() is
/// thread-safe.
class VerifiedDescriptor {
 public:
  VerifiedDescriptor() = default;
  /// The descriptor's number may change: see AboveStandardStreams().
  explicit VerifiedDescriptor(FileDescriptor given) {
    FileDescriptor opened = AboveStandardStreams(std::move(given));
    struct stat status {};
    if (fstat(opened.get(), &status) != 0) return;
    device_ = status.st_dev;
    inode_ = status.st_ino;
    number_ = opened.Release();
  }
  VerifiedDescriptor(VerifiedDescriptor&& other) noexcept
      : number_(std::exchange(other.number_, -1)), device_(other.device_), inode_(other.inode_) {}
  VerifiedDescriptor& operator=(VerifiedDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    std::swap(device_, other.device_);
    std::swap(inode_, other.inode_);
    return *this;
  }
  VerifiedDescriptor(const VerifiedDescriptor&) = delete;
  VerifiedDescriptor& operator=(const VerifiedDescriptor&) = delete;
  ~VerifiedDescriptor() { FileDescriptor(Get()).Close(); }

  /// Returns the descriptor's number, or -1 if foreign code has closed it or reused its number.
  /// Costs one fstat(2). The answer is valid until foreign code runs again.
  [[nodiscard]] int Get() const {
    struct stat status {};
    const bool same = number_ >= 0 && fstat(number_, &status) == 0 && status.st_dev == device_ &&
                      status.st_ino == inode_;
    return same ? number_ : -1;
  }

 private:
  int number_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace cccl_cache
