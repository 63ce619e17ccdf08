// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>

#include "daemon/compile/protocol/frame.h"

namespace cccl_cache::daemon {

/// The precompiled header of one job, kPchName to the compiler. The compiler opens it to read
/// before it looks at the program, and opens it to write when it has parsed that: so whatever the
/// program makes it open or look for is never this file, and a program can't tell whether it has
/// one. Not thread-safe.
class PchFile {
 public:
  /// What is to be read is mapped at once: a sandboxed process maps no files.
  PchFile(int fd, PchUse use);
  PchFile(const PchFile&) = delete;
  PchFile& operator=(const PchFile&) = delete;

  /// The descriptor will be known as this from now on; not owned.
  void Renumber(int fd) { fd_ = fd; }

  /// As open(2), -errno or a descriptor.
  [[nodiscard]] int Open(int flags);
  /// As stat(2): the compiler looks at the file right after it has opened it, and never else.
  [[nodiscard]] int Stat(struct stat* status);

  /// Moves this part of the file, as far as it was not moved before, to an address where its
  /// private mapping is to be. False: `fd` is another file, or it can't.
  [[nodiscard]] bool MoveTo(void* address, size_t length, int fd, off_t offset) const;

 private:
  int fd_;
  const PchUse use_;
  char* mapped_ = nullptr;
  size_t size_ = 0;
  int opened_ = -1;  ///< for reading
  bool just_opened_ = false;
};

}  // namespace cccl_cache::daemon
