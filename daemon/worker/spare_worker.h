// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <utility>

#include "base/file_descriptor.h"
#include "daemon/compile/protocol/packet.h"
#include "daemon/worker/files/memory_files.h"

namespace cccl_cache::daemon {

/// A worker that is forked before there is a job, has seen nothing of any client, and touches the
/// memory of a compile meanwhile: so a miss finds all of it there. Of a process with one thread,
/// whose child it is and who reaps it. Ends when this object does, unless it has a job.
class SpareWorker {
 public:
  /// What the child is to do, with what is in memory at the fork.
  class Role {
   public:
    /// At once: closes what the parent must be the only one to have.
    virtual void Begin() = 0;
    /// All that a worker does with a request and its descriptors.
    [[noreturn]] virtual void Work(Packet request) = 0;

   protected:
    ~Role() = default;
  };

  /// Nothing if the system refuses.
  [[nodiscard]] static std::optional<SpareWorker> Fork(size_t touched_bytes, Role& role);

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] RefusedMemory& refused_memory() { return refused_memory_; }
  /// False: it is gone, and has not begun.
  [[nodiscard]] bool Give(const Packet& request);

 private:
  SpareWorker(pid_t pid, RefusedMemory refused_memory, FileDescriptor socket)
      : pid_(pid), refused_memory_(std::move(refused_memory)), socket_(std::move(socket)) {}

  pid_t pid_;
  RefusedMemory refused_memory_;
  FileDescriptor socket_;
};

/// What a child of this process would have in memory at its fork: the kernel gives it none of the
/// pages of files, as of compilers, before it asks for them. 0 where /proc is not mounted.
[[nodiscard]] size_t InheritedBytes();

/// How much a spare worker is to touch: what those before it took, which is forgotten by and by.
class TouchedBytes {
 public:
  /// A worker's peak, and what it had of that at its fork.
  void Learn(size_t worker_bytes, size_t inherited_bytes);
  /// Of a job that may have so much in all.
  [[nodiscard]] size_t For(size_t memory_bytes) const;

 private:
  size_t bytes_ = 0;
};

/// Has the allocator take what it hands out from its heap, and keep it: once, before the first
/// fork, so that all workers have the same allocator.
void KeepHeap();

/// Touches memory that the allocator will hand out later, until there are `bytes` of it or
/// something can be read from the socket, whichever is first. The kernel gives a process its memory
/// when it is first touched, which takes a compile of 200 MB some 20 ms, and 200 ms where a
/// hypervisor hands it out late. For a process with one thread.
void TouchHeap(size_t bytes, int until_readable);

}  // namespace cccl_cache::daemon
