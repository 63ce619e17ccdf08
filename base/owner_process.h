// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cccl_cache {

/// Identifies the process that made the object. A child has copies of its parent's objects, and can
/// even have its parent's pid, because each may be process 1 of its own pid namespace. Processes
/// are therefore distinguished by a number in memory that the kernel clears in a child. Processes
/// with common memory (vfork(), CLONE_VM) count as one. Where the kernel can't clear memory (before
/// Linux 4.14, some emulators), the class uses pthread_atfork() and the pid instead. After the
/// first object, it reads only memory, takes no lock and allocates nothing. Usable in signal
/// handlers.
class OwnerProcess {
 public:
  OwnerProcess() : number_(Current()) {}

  /// Returns whether the calling process made the object.
  [[nodiscard]] bool IsThis() const { return number_ == Current(); }

 private:
  static uint64_t Current();

  uint64_t number_;  ///< differs from the numbers of the process's ancestors and children
};

}  // namespace cccl_cache
