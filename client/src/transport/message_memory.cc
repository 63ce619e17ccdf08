// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/transport/message_memory.h"

#include <atomic>
#include <new>
#include <utility>

namespace cccl_cache {
namespace {

// What is smaller, the allocator keeps by itself.
constexpr size_t kSmallestKept = size_t{64} << 10;
constexpr size_t kLargestKept = size_t{4} << 20;
// A message that needs less than this part of a block would hold too much.
constexpr size_t kLeastUse = 2;

/// What lies before the bytes.
struct alignas(std::max_align_t) Block {
  size_t capacity;

  char* bytes() { return reinterpret_cast<char*>(this + 1); }
  static Block* Of(char* bytes) { return reinterpret_cast<Block*>(bytes) - 1; }
};

std::atomic<Block*> spare{nullptr};

void Free(Block* block) { ::operator delete(block); }

bool Fits(const Block& block, size_t size) {
  return size <= block.capacity && size >= block.capacity / kLeastUse;
}

}  // namespace

MessageMemory AllocateMessageMemory(size_t size) {
  if (size >= kSmallestKept && size <= kLargestKept) {
    Block* const kept = spare.exchange(nullptr, std::memory_order_acquire);
    if (kept != nullptr && Fits(*kept, size)) return MessageMemory(kept->bytes());
    Free(kept);
  }
  auto* const block = new (::operator new(sizeof(Block) + size)) Block{size};
  return MessageMemory(block->bytes());
}

size_t CapacityOf(const MessageMemory& memory) {
  return memory == nullptr ? 0 : Block::Of(memory.get())->capacity;
}

void ReleaseMessageMemory::operator()(char* memory) const {
  Block* block = Block::Of(memory);
  if (block->capacity >= kSmallestKept && block->capacity <= kLargestKept) {
    block = spare.exchange(block, std::memory_order_acq_rel);
  }
  Free(block);
}

}  // namespace cccl_cache
