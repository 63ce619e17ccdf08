// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>

namespace cccl_cache::interpose {

/// A mark in the path with which a stand-in opens the real library, before the last slash. The
/// marked path leads to the same file, but the loader and the auditor can tell it from the path
/// that the program used. The caller of dlopen() can't be identified otherwise: a program, a
/// sanitizer or a preloaded library may define its own dlopen().
inline constexpr char kRealMark[] = "/././.";

/// Returns whether the path has the mark. `path` must contain a slash.
inline bool HasRealMark(const char* path) {
  const auto before = static_cast<size_t>(std::strrchr(path, '/') - path);
  const size_t size = sizeof(kRealMark) - 1;
  return before >= size && std::memcmp(path + before - size, kRealMark, size) == 0;
}

}  // namespace cccl_cache::interpose
