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

/// A worker that is forked before there is a job. It has no data of any client, and while it waits
/// it touches the memory that a compile will need, so that a miss has no page faults. The parent
/// has one thread and reaps it. The spare worker ends when this object is destroyed, unless it has
/// a job.
class SpareWorker {
 public:
  /// The code of the child.
  class Role {
   public:
    /// Called right after the fork: closes the descriptors that only the parent may hold.
    virtual void Begin() = 0;
    /// Runs a request with its descriptors, like any other worker.
    [[noreturn]] virtual void Work(Packet request) = 0;

   protected:
    ~Role() = default;
  };

  /// Returns none if the system refuses the fork.
  [[nodiscard]] static std::optional<SpareWorker> Fork(size_t touched_bytes, Role& role);

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] RefusedMemory& refused_memory() { return refused_memory_; }
  /// Sends the request to the spare worker. Returns false if the worker has died; no job has begun
  /// then.
  [[nodiscard]] bool Give(const Packet& request);

 private:
  SpareWorker(pid_t pid, RefusedMemory refused_memory, FileDescriptor socket)
      : pid_(pid), refused_memory_(std::move(refused_memory)), socket_(std::move(socket)) {}

  pid_t pid_;
  RefusedMemory refused_memory_;
  FileDescriptor socket_;
};

/// Returns the bytes that a child of this process would have in memory at its fork. Pages of files,
/// such as the compilers', do not count, because the kernel maps them only on access. 0 if /proc is
/// not mounted.
[[nodiscard]] size_t InheritedBytes();

/// The number of bytes that a spare worker touches: the smaller need of the last two workers, so
/// that one large compile among small ones does not make later workers touch too much.
class TouchedBytes {
 public:
  /// Records a worker's peak and its bytes at the fork. `has_pch`: the peak is ignored, because
  /// most of it is a precompiled header.
  void Learn(size_t worker_bytes, size_t inherited_bytes, bool has_pch = false);
  /// Returns the bytes to touch for a job with a memory limit of `memory_bytes`.
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

/// To be called after KeepHeap: allocates the free end of this thread's heap up to a huge page,
/// except what the zygote itself needs. So a worker allocates in its own huge pages. A huge page
/// shared with the zygote would become 512 small pages in each worker.
[[nodiscard]] HeapSetAside SetHeapAside();

/// Touches memory that the allocator will hand out later, until `bytes` are touched or the socket
/// is readable. Page faults take a compile of 200 MB some 20 ms, and 200 ms in a virtual machine
/// that gets its memory late. For a process with one thread.
void TouchHeap(size_t bytes, int until_readable);

}  // namespace cccl_cache::daemon
