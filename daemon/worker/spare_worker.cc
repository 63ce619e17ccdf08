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

/// A spare worker never touches more than this: more is not worth holding.
constexpr size_t kMaxBytes = 256u << 20;
/// Memory that is touched but not used counts as the job's memory, from which the daemon judges why
/// a job failed. So it must be a small part of the limit.
constexpr size_t kShareOfLimit = 16;

[[noreturn]] void WaitForWork(const FileDescriptor& socket, size_t touched_bytes,
                              SpareWorker::Role& role) {
  role.Begin();
  TouchHeap(touched_bytes, socket.get());
  Result<Packet> request = ReceivePacket(socket.get());
  if (!request) _exit(kExitNotStarted);  // a lost request: the daemon tries again
  if (!request->end) role.Work(*std::move(request));
  _exit(0);
}

/// The largest allocation that the allocator serves from its heap. It would serve a larger one with
/// a mapping of its own, and give that back.
constexpr int kMaxOfHeap = 32 << 20;
/// Bytes touched between two checks of the socket: some ms at worst.
constexpr size_t kPieceBytes = 2u << 20;
constexpr size_t kPageBytes = 4096;
/// A worker has about as many bytes of the compiler's files in memory at its end.
constexpr size_t kBytesOfFiles = 32u << 20;
/// The C library begins a heap with 2 MiB that end anywhere.
constexpr size_t kBytesToExtend = 4u << 20;
/// The zygote allocates no more than a few packets from one job to another.
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
  here.Close();  // otherwise the child would never see the end of file
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
  size_t of_files = 0;  // in pages, as proc(5) says
  if (!(statm >> all >> resident >> of_files) || of_files > resident) return 0;
  return (resident - of_files) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// Memory that was touched ahead counts in a worker's peak, used or not. So the number must be a
// quarter lower each time to be able to fall.
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
  // More than is free: the allocator extends its heap, up to the end of a huge page.
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
