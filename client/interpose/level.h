// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "client/interpose/elf_file.h"

// The feature levels of NVIDIA's libraries. A feature level is a set of exported functions. Each
// level has a stand-in library with exactly these exports. This header uses no C++ runtime, because
// the auditor includes it and is linked without one.

namespace cccl_cache::interpose {

/// A feature level: the stand-in, and the library that it replaces.
struct Level {
  const char* library;  ///< file name without suffix, such as "libnvrtc"
  const char* standin;  ///< path below the auditor's directory: "nvrtc-12.8/libnvrtc.so.12"
  size_t count;         ///< number of exported names
  const char* names;    ///< the exported names, each with a NUL at its end
};
inline constexpr Level kLevels[] = {
#include "levels.inc"
};
inline constexpr size_t kLevelCount = sizeof(kLevels) / sizeof(*kLevels);

inline bool Exports(const Level& level, const char* name) {
  const char* each = level.names;
  for (size_t i = 0; i < level.count; ++i, each += std::strlen(each) + 1) {
    if (std::strcmp(each, name) == 0) return true;
  }
  return false;
}

/// Returns whether `name` is a file name of the library. A Python wheel that bundles the library
/// adds a hash to the name, such as "libnvrtc-1a2b.so.12". "libnvrtc-builtins" is another library.
inline bool IsNameOf(const char* library, const char* name) {
  const size_t size = std::strlen(library);
  if (std::strncmp(name, library, size) != 0) return false;
  const char* rest = name + size;
  return std::strncmp(rest, ".so", 3) == 0 ||
         (*rest == '-' && std::strncmp(rest, "-builtins", 9) != 0);
}

/// Returns the index of the level whose exports are exactly those of the file. Returns kLevelCount
/// if there is no such level. `path` must contain a slash.
inline size_t LevelOf(const char* path) {
  const char* name = std::strrchr(path, '/') + 1;
  size_t exported = 0;
  const ElfFile file(path);
  file.ForEachExport([&](const char*, uintptr_t) { ++exported; });
  for (size_t i = 0; i < kLevelCount; ++i) {
    if (kLevels[i].count != exported || !IsNameOf(kLevels[i].library, name)) continue;
    size_t same = 0;
    file.ForEachExport([&](const char* each, uintptr_t) { same += Exports(kLevels[i], each); });
    if (same == exported) return i;
  }
  return kLevelCount;
}

/// Returns whether the file name of `path` is a name of one of the libraries. Returns false for a
/// name without a slash: the loader calls the auditor again for each path that it tries for the
/// name.
inline bool IsServed(const char* path) {
  const char* slash = std::strrchr(path, '/');
  if (slash == nullptr) return false;
  for (const Level& level : kLevels) {
    if (IsNameOf(level.library, slash + 1)) return true;
  }
  return false;
}

}  // namespace cccl_cache::interpose
