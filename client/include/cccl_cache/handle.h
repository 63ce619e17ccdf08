// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#if __cplusplus < 202002L
#error \
    "The headers cccl_cache/*.h need C++20: compile with -std=c++20, or use cccl_cache/client_c.h"
#endif

#include <memory>
#include <string_view>

#include "cccl_cache/c/base.h"

namespace cccl_cache {

inline std::string_view View(cccl_cache_bytes bytes) { return {bytes.data, bytes.size}; }
inline cccl_cache_bytes Bytes(std::string_view view) { return {view.data(), view.size()}; }

/// A deleter for std::unique_ptr that calls `Free` with the handle.
template <auto Free>
struct HandleDeleter {
  template <typename T>
  void operator()(T* handle) const {
    Free(handle);
  }
};
template <typename T, auto Free>
using Handle = std::unique_ptr<T, HandleDeleter<Free>>;

}  // namespace cccl_cache
