// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "cccl_cache/c/base.h"

namespace cccl_cache {

inline std::string_view View(cccl_cache_bytes bytes) { return {bytes.data, bytes.size}; }
inline cccl_cache_bytes Bytes(std::string_view view) { return {view.data(), view.size()}; }

/// Calls the function that frees a handle.
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
