// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/transport/message_assembler.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <utility>

namespace cccl_cache {
namespace {

// The sizes of the blocks that are kept for the next message. The system's allocator itself caches
// smaller blocks.
constexpr size_t kSmallestKept = size_t{64} << 10;
constexpr size_t kLargestKept = size_t{4} << 20;
// A kept block is not used for a message that needs less than 1/kLeastUse of it.
constexpr size_t kLeastUse = 2;

/// The header in front of a block's bytes, in the same allocation.
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

Message Message::WithRoomFor(size_t size) {
  Message message{AllocateMessageMemory(size + 1), size};
  message.bytes[size] = '\0';
  return message;
}

std::span<char> MessageAssembler::Room() {
  if (message_.bytes == nullptr) return {};
  return {message_.bytes.get() + received_, message_.size - received_};
}

MessageAssembler::State MessageAssembler::Append(std::string_view* bytes) {
  if (prefix_size_ < kPrefix) {
    const size_t taken = std::min(kPrefix - prefix_size_, bytes->size());
    if (taken > 0) std::memcpy(prefix_.data() + prefix_size_, bytes->data(), taken);
    prefix_size_ += taken;
    bytes->remove_prefix(taken);
    if (prefix_size_ < kPrefix) return State::kIncomplete;
    if (Allocate() == State::kInvalid) return State::kInvalid;
  }
  const size_t taken = std::min(message_.size - received_, bytes->size());
  char* place = message_.bytes.get() + received_;
  if (taken > 0 && place != bytes->data()) std::memmove(place, bytes->data(), taken);
  received_ += taken;
  bytes->remove_prefix(taken);
  return received_ == message_.size ? State::kComplete : State::kIncomplete;
}

Message MessageAssembler::Take() {
  prefix_size_ = 0;
  received_ = 0;
  return std::exchange(message_, {});
}

MessageAssembler::State MessageAssembler::Allocate() {
  const size_t size = static_cast<size_t>(prefix_[1]) << 24 |
                      static_cast<size_t>(prefix_[2]) << 16 | static_cast<size_t>(prefix_[3]) << 8 |
                      static_cast<size_t>(prefix_[4]);
  if (prefix_[0] != 0 || size > limit_) return State::kInvalid;
  // The new memory is not zeroed, because received bytes fill all of it before Take() is called.
  message_ = Message::WithRoomFor(size);
  received_ = 0;
  return State::kIncomplete;
}

}  // namespace cccl_cache
