// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <malloc.h>

#include <cstddef>

/// Defined by sanitizers, which replace the allocator; null without one.
extern "C" __attribute__((weak)) size_t __sanitizer_get_current_allocated_bytes();

namespace cccl_cache {

/// Returns the bytes that this process has allocated in small pieces.
inline size_t AllocatedBytes() {
  if (__sanitizer_get_current_allocated_bytes != nullptr) {
    return __sanitizer_get_current_allocated_bytes();
  }
  return mallinfo2().uordblks;
}

}  // namespace cccl_cache
