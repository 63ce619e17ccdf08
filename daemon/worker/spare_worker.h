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

/// A worker that is forked before there is a job. It has seen nothing of any client, and touches
/// the memory of a compile while it waits, so that a miss finds all of it there. The parent is a
/// process with one thread and reaps it. The spare worker ends when this object is destroyed,
/// unless it has a job.
class SpareWorker {
 public:
  /// The task of the child, which uses the memory as it is at the fork.
  class Role {
   public:
    /// Called at once: closes the descriptors that only the parent may hold.
    virtual void Begin() = 0;
    /// Does all the work of a worker with a request and its descriptors.
    [[noreturn]] virtual void Work(Packet request) = 0;

   protected:
    ~Role() = default;
  };

  /// Returns nothing if the system refuses the fork.
  [[nodiscard]] static std::optional<SpareWorker> Fork(size_t touched_bytes, Role& role);

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] RefusedMemory& refused_memory() { return refused_memory_; }
  /// Hands the request to the spare worker. Returns false if the worker is gone and has not begun.
  [[nodiscard]] bool Give(const Packet& request);

 private:
  SpareWorker(pid_t pid, RefusedMemory refused_memory, FileDescriptor socket)
      : pid_(pid), refused_memory_(std::move(refused_memory)), socket_(std::move(socket)) {}

  pid_t pid_;
  RefusedMemory refused_memory_;
  FileDescriptor socket_;
};

/// Returns how many bytes a child of this process would have in memory at its fork. Pages of files,
/// such as the compilers', are not counted: the kernel gives them to a child only when it asks. 0
/// where /proc is not mounted.
[[nodiscard]] size_t InheritedBytes();

/// The number of bytes that a spare worker touches: as many as the last two workers both needed. So
/// one large compile among small ones does not make later workers touch memory in vain.
class TouchedBytes {
 public:
  /// Records a worker's peak, and how much of that it had at its fork, in bytes. `has_pch`: most of
  /// its memory is a precompiled header, and little its heap.
  void Learn(size_t worker_bytes, size_t inherited_bytes, bool has_pch = false);
  /// Returns the bytes to touch for a job that may have `memory_bytes` in all.
  [[nodiscard]] size_t For(size_t memory_bytes) const;

 private:
  size_t last_ = 0;
  size_t before_ = 0;
};

/// Makes the allocator serve allocations from its heap and keep freed memory. To be called once,
/// before the first fork, so that all workers have the same allocator.
void KeepHeap();

/// Memory that is allocated and never touched.
using HeapSetAside = std::array<std::unique_ptr<char[]>, 2>;

/// To be called after KeepHeap: allocates the free end of this thread's heap up to a huge page, but
/// for what the zygote needs for itself. So a worker's allocations lie in its own huge pages: a
/// huge page shared with the zygote would become 512 small pages in each worker.
[[nodiscard]] HeapSetAside SetHeapAside();

/// Touches memory that the allocator will hand out later, until `bytes` are touched or the socket
/// is readable, whichever comes first. The kernel gives a process its memory when it is first
/// touched. That takes a compile of 200 MB some 20 ms, and 200 ms where a hypervisor hands it out
/// late. For a process with one thread.
void TouchHeap(size_t bytes, int until_readable);

}  // namespace cccl_cache::daemon
