// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cccl_cache {

/// Identifies the process that made the object. A child has a copy of its parent's objects and may
/// have its parent's pid too, because each can be process 1 of its own namespace. The process is
/// therefore identified by its memory, which the kernel marks as copied in a child. Processes that
/// share their memory (vfork(), CLONE_VM) count as one. Without such marks (before Linux 4.14, some
/// emulators) the class uses fork() and the pid. It reads only memory, takes no lock and, after the
/// first object, allocates nothing. Usable in signal handlers.
class OwnerProcess {
 public:
  OwnerProcess() : number_(Current()) {}

  /// Returns whether the calling process made the object.
  [[nodiscard]] bool IsThis() const { return number_ == Current(); }

 private:
  static uint64_t Current();

  uint64_t number_;  ///< unique among the processes whose memory was copied
};

}  // namespace cccl_cache
