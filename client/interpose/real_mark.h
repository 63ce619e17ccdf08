// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>

namespace cccl_cache::interpose {

/// Inserted before the last slash of the path by which a stand-in opens the real library, so that
/// the loader and the auditor tell it from the path that the program used. The caller of dlopen()
/// does not show it: a program, a sanitizer or a preloaded library may have a dlopen() of its own.
inline constexpr char kRealMark[] = "/././.";

/// Returns whether a path, which must have a slash, has the mark.
inline bool HasRealMark(const char* path) {
  const auto before = static_cast<size_t>(std::strrchr(path, '/') - path);
  const size_t size = sizeof(kRealMark) - 1;
  return before >= size && std::memcmp(path + before - size, kRealMark, size) == 0;
}

}  // namespace cccl_cache::interpose
