// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "base/files/file_descriptor.h"
#include "daemon/compile/protocol/packet.h"
#include "daemon/worker/files/memory_files.h"

namespace cccl_cache::daemon {

/// A worker process that the zygote forks before there is a job. While it waits for a job, it
/// touches memory that the compile will need, so that the compile causes fewer page faults. It has
/// no data of any client. The zygote has one thread, and reaps the process. The destructor ends the
/// process unless it has a job.
class SpareWorker {
 public:
  /// The functions that run in the child process.
  class Role {
   public:
    /// Called right after the fork. Closes the descriptors that only the zygote may hold.
    virtual void Begin() = 0;
    /// Runs the job of a request, as in any other worker.
    [[noreturn]] virtual void Work(Packet request) = 0;

   protected:
    ~Role() = default;
  };

  /// Forks the process, which touches `touched_bytes` bytes. Returns none if the system refuses the
  /// fork.
  [[nodiscard]] static std::optional<SpareWorker> Fork(size_t touched_bytes, Role& role);

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] RefusedMemory& refused_memory() { return refused_memory_; }
  /// Sends a request with its descriptors to the process. Returns false if the process has died;
  /// the job has not begun then.
  [[nodiscard]] bool Give(const Packet& request);

 private:
  SpareWorker(pid_t pid, RefusedMemory refused_memory, FileDescriptor socket)
      : pid_(pid), refused_memory_(std::move(refused_memory)), socket_(std::move(socket)) {}

  pid_t pid_;
  RefusedMemory refused_memory_;
  FileDescriptor socket_;
};

/// Returns the number of bytes in memory that a child has at its fork because this process has
/// them. Pages of files are not included: the kernel maps them into the child when they are
/// accessed. 0 if /proc is not mounted.
[[nodiscard]] size_t InheritedBytes();

/// Computes how many bytes a spare worker touches: the smaller need of the last two workers. So one
/// large compile among small ones does not make later workers touch too much.
class TouchedBytes {
 public:
  /// Records the peak memory of a worker and its InheritedBytes. `has_pch`: the job had a
  /// precompiled header, which makes up most of the peak. The need then counts as 0.
  void Learn(size_t worker_bytes, size_t inherited_bytes, bool has_pch = false);
  /// Returns the bytes to touch for a job with a memory limit of `memory_bytes`.
  [[nodiscard]] size_t For(size_t memory_bytes) const;

 private:
  size_t last_ = 0;
  size_t before_ = 0;
};

/// Makes malloc serve allocations from its heap and never return freed memory to the kernel. Call
/// it once, before the first fork, so that it applies to all workers.
void KeepHeap();

/// Allocated memory that no process touches.
using HeapSetAside = std::array<std::unique_ptr<char[]>, 2>;

/// Allocates the rest of this thread's heap up to the end of a huge page, except the memory that
/// the zygote needs. Each worker then allocates from huge pages of its own. Otherwise the first
/// huge page would be shared with the zygote, and would become 512 small pages in each worker. Call
/// it after KeepHeap, and keep the result.
[[nodiscard]] HeapSetAside SetHeapAside();

/// Touches memory that malloc will return later. Stops after `bytes` bytes, or when the socket
/// `until_readable` is readable. Without it, the page faults of a compile of 200 MB take some 20
/// ms, and 200 ms in a virtual machine whose host provides memory on access. The process must have
/// only one thread.
void TouchHeap(size_t bytes, int until_readable);

}  // namespace cccl_cache::daemon
