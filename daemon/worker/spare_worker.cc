// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/spare_worker.h"

#include <malloc.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <utility>
#include <vector>

#include "daemon/compile/protocol/frame.h"

namespace cccl_cache::daemon {
namespace {

/// Maximum of TouchedBytes::For, in bytes.
constexpr size_t kMaxBytes = 256u << 20;
/// TouchedBytes::For returns at most the job's memory limit divided by this number. Touched memory
/// counts as memory of the job even if the job does not use it. When a job fails, the daemon
/// compares the job's memory with the limit, so touched memory must be a small part of it.
constexpr size_t kShareOfLimit = 16;

[[noreturn]] void WaitForWork(const FileDescriptor& socket, size_t touched_bytes,
                              SpareWorker::Role& role) {
  role.Begin();
  TouchHeap(touched_bytes, socket.get());
  Result<Packet> request = ReceivePacket(socket.get());
  if (!request) _exit(kExitNotStarted);  // no request came: the daemon starts the job again
  if (!request->end) role.Work(*std::move(request));
  _exit(0);
}

/// Larger allocations do not come from the heap: malloc maps memory for each of them and unmaps it
/// when it is freed.
constexpr int kMaxOfHeap = 32 << 20;
/// Bytes that are touched between two checks of the socket. They take a few ms at most.
constexpr size_t kPieceBytes = 2u << 20;
constexpr size_t kPageBytes = 4096;
/// Estimated bytes of the compilers' files in the memory of a worker at its end.
constexpr size_t kBytesOfFiles = 32u << 20;
/// Size of an allocation that surely extends the heap: the heap begins with at most 2 MiB.
constexpr size_t kBytesToExtend = 4u << 20;
/// Free bytes of the heap that the zygote keeps for itself. It needs memory for a few packets.
constexpr size_t kBytesOfZygote = 4 * kMaxPacketBytes;

bool IsReadable(int socket) {
  pollfd ready{socket, POLLIN, 0};
  return poll(&ready, 1, 0) != 0;
}

void Touch(volatile char* piece) {
  for (size_t at = 0; at < kPieceBytes; at += kPageBytes) piece[at] = 0;
}

}  // namespace

std::optional<SpareWorker> SpareWorker::Fork(size_t touched_bytes, Role& role) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return std::nullopt;
  FileDescriptor here(pair[0]);
  const FileDescriptor there(pair[1]);
  RefusedMemory refused_memory = RefusedMemory::OfNextFork();
  const pid_t pid = fork();
  if (pid != 0) refused_memory.HideFromOthers();
  if (pid < 0) return std::nullopt;
  if (pid > 0) return SpareWorker(pid, std::move(refused_memory), std::move(here));
  here.Close();  // If the child kept this end, it would never read an end of file.
  WaitForWork(there, touched_bytes, role);
}

bool SpareWorker::Give(const Packet& request) {
  std::vector<int> fds;
  for (const FileDescriptor& fd : request.fds) fds.push_back(fd.get());
  return static_cast<bool>(SendPacket(socket_.get(), request.bytes, fds));
}

size_t InheritedBytes() {
  std::ifstream statm("/proc/self/statm");
  size_t all = 0;
  size_t resident = 0;
  size_t of_files = 0;  // proc(5): the numbers are pages
  if (!(statm >> all >> resident >> of_files) || of_files > resident) return 0;
  return (resident - of_files) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// A worker's peak includes touched memory that was not used. With the whole peak as the next
// estimate, the estimate could never fall, so it is three quarters of the peak.
void TouchedBytes::Learn(size_t worker_bytes, size_t inherited_bytes, bool has_pch) {
  const size_t own = inherited_bytes + kBytesOfFiles;
  const bool has_own = !has_pch && worker_bytes > own;
  before_ = std::exchange(last_, has_own ? (worker_bytes - own) / 4 * 3 : 0);
}

size_t TouchedBytes::For(size_t memory_bytes) const {
  return std::min({last_, before_, kMaxBytes, memory_bytes / kShareOfLimit});
}

HeapSetAside SetHeapAside() {
  HeapSetAside memory;
  // This exceeds the free memory of the heap, so malloc extends the heap, up to the end of a huge
  // page.
  memory[0] = std::make_unique_for_overwrite<char[]>(kBytesToExtend);
  const uintptr_t taken = reinterpret_cast<uintptr_t>(memory[0].get()) + kBytesToExtend;
  const uintptr_t end = reinterpret_cast<uintptr_t>(sbrk(0));
  if (taken + kBytesOfZygote < end) {
    memory[1] = std::make_unique_for_overwrite<char[]>(end - kBytesOfZygote - taken);
  }
  return memory;
}

void KeepHeap() {
  mallopt(M_MMAP_THRESHOLD, kMaxOfHeap);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
}

void TouchHeap(size_t bytes, int until_readable) {
  std::vector<void*> pieces;
  pieces.reserve(bytes / kPieceBytes + 1);
  while (pieces.size() < bytes / kPieceBytes && !IsReadable(until_readable)) {
    void* piece = malloc(kPieceBytes);
    if (piece == nullptr) break;
    pieces.push_back(piece);
    Touch(static_cast<char*>(piece));
  }
  for (void* piece : pieces) free(piece);
}

}  // namespace cccl_cache::daemon
