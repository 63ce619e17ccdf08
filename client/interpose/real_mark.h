// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>

namespace cccl_cache::interpose {

/// Stands before the last slash of the path by which a stand-in opens the real library. By this the
/// loader and the auditor tell it from the path that the program gave. They can't tell by the
/// object that calls dlopen(): a program, a sanitizer or a preloaded library may have a dlopen() of
/// its own, which then is the caller.
inline constexpr char kRealMark[] = "/././.";

/// Returns whether a path, which has a slash, holds the mark.
inline bool HasRealMark(const char* path) {
  const auto before = static_cast<size_t>(std::strrchr(path, '/') - path);
  const size_t size = sizeof(kRealMark) - 1;
  return before >= size && std::memcmp(path + before - size, kRealMark, size) == 0;
}

}  // namespace cccl_cache::interpose
