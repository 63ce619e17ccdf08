// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/touched_heap.h"

#include <malloc.h>
#include <poll.h>

#include <climits>
#include <cstdlib>
#include <vector>

namespace cccl_cache::daemon {
namespace {

/// The most that the allocator takes from its heap rather than as a mapping of its own, which it
/// would give back.
constexpr int kLargestOfHeap = 32 << 20;
constexpr size_t kPieceBytes = 16u << 20;
/// Between two looks at the socket: some ms at worst.
constexpr size_t kStepBytes = 2u << 20;
constexpr size_t kPageBytes = 4096;

bool IsReadable(int socket) {
  pollfd ready{socket, POLLIN, 0};
  return poll(&ready, 1, 0) != 0;
}

/// False: something is to be read.
bool Touch(char* piece, int until_readable) {
  for (size_t at = 0; at < kPieceBytes; at += kPageBytes) {
    if (at % kStepBytes == 0 && IsReadable(until_readable)) return false;
    static_cast<volatile char*>(piece)[at] = 0;
  }
  return true;
}

}  // namespace

void KeepHeap() {
  mallopt(M_MMAP_THRESHOLD, kLargestOfHeap);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
}

void TouchHeap(size_t bytes, int until_readable) {
  std::vector<void*> pieces;
  pieces.reserve(bytes / kPieceBytes + 1);
  bool more = true;
  while (more && pieces.size() < bytes / kPieceBytes) {
    void* piece = malloc(kPieceBytes);
    if (piece == nullptr) break;
    pieces.push_back(piece);
    more = Touch(static_cast<char*>(piece), until_readable);
  }
  for (void* piece : pieces) free(piece);
}

}  // namespace cccl_cache::daemon
