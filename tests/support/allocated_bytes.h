// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <malloc.h>

#include <cstddef>

/// A sanitizer, which replaces the allocator, defines this function. Null without a sanitizer.
extern "C" __attribute__((weak)) size_t __sanitizer_get_current_allocated_bytes();

namespace cccl_cache {

/// Returns the bytes that this process has allocated on its heap. Without a sanitizer, memory that
/// malloc maps separately is not counted.
inline size_t AllocatedBytes() {
  if (__sanitizer_get_current_allocated_bytes != nullptr) {
    return __sanitizer_get_current_allocated_bytes();
  }
  return mallinfo2().uordblks;
}

}  // namespace cccl_cache
