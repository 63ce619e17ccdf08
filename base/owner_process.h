// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cccl_cache {

/// The process in which it was made. A child has a copy of its parent's objects, and may have its
/// parent's number too: each can be process 1 of a namespace of its own. So a process is told by
/// its memory, which the kernel marks as copied, however the child was made. Processes that share
/// their memory (vfork(), CLONE_VM) count as one, as the objects in it do. Without such marks
/// (before Linux 4.14, some emulators) fork() and the number tell. Reads memory only; takes no lock
/// and, but for the first one, allocates nothing. Usable in signal handlers.
class OwnerProcess {
 public:
  OwnerProcess() : number_(Current()) {}

  /// Returns whether this process is the one.
  [[nodiscard]] bool IsThis() const { return number_ == Current(); }

 private:
  static uint64_t Current();

  uint64_t number_;  ///< other than those of all processes whose memory this one has a copy of
};

}  // namespace cccl_cache
