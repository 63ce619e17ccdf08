// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

namespace cccl_cache {

/// Gives memory back so that the next message can have it.
struct ReleaseMessageMemory {
  void operator()(char* memory) const;
};

using MessageMemory = std::unique_ptr<char[], ReleaseMessageMemory>;

/// Room for a received message, its bytes undefined. One block of up to 4 MiB that was given back
/// is kept for the next message of about its size: to the system's allocator a block of that size
/// is one to hand back to the kernel at once, and then every answer costs a page fault for each 4
/// KiB. Thread-safe, and safe to use in a forked child, whatever the parent's threads were at.
[[nodiscard]] MessageMemory AllocateMessageMemory(size_t size);

/// How large the block is that it lies in: at most twice what was asked for.
[[nodiscard]] size_t CapacityOf(const MessageMemory& memory);

}  // namespace cccl_cache
