// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cccl_cache {

/// The process in which it was made. A child has a copy of its parent's objects, and may have its
/// parent's pid too: each can be process 1 of its own namespace. So a process is identified by its
/// memory, which the kernel marks as copied in any child. Processes that share their memory
/// (vfork(), CLONE_VM) count as one. Without such marks (before Linux 4.14, some emulators) it uses
/// fork() and the pid. Reads memory only; takes no lock and, except for the first one, allocates
/// nothing. Usable in signal handlers.
class OwnerProcess {
 public:
  OwnerProcess() : number_(Current()) {}

  /// Returns whether this process is the one.
  [[nodiscard]] bool IsThis() const { return number_ == Current(); }

 private:
  static uint64_t Current();

  uint64_t number_;  ///< unique among the processes whose memory this one copied
};

}  // namespace cccl_cache
