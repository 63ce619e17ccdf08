// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/local_compiler_path.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace cccl_cache {
namespace {

// Relative to the library, so that an installation can be moved as a whole.
constexpr std::array<const char*, 3> kPlaces = {CCCL_CACHE_INSTALLED_COMPILER, "cccl-cache-compile",
                                                CCCL_CACHE_BUILT_COMPILER};

/// The file of which `code` is part, by its name from the root; empty if the kernel does not tell.
std::string MappedFile(const void* code) {
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return {};
  const auto address = reinterpret_cast<uintptr_t>(code);
  std::string found;
  char* line = nullptr;
  size_t capacity = 0;
  while (found.empty() && getline(&line, &capacity, maps) > 0) {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &begin, &end) != 2) continue;
    const std::string_view text = std::string_view(line).substr(0, std::strcspn(line, "\n"));
    const size_t name = text.find('/');
    if (begin <= address && address < end && name != text.npos) found = text.substr(name);
  }
  std::free(line);
  std::fclose(maps);
  return found;
}

std::string OwnDirectory() {
  const auto* own_code = reinterpret_cast<const void*>(&FindLocalCompiler);
  Dl_info own = {};
  std::string path;
  if (dladdr(own_code, &own) != 0 && own.dli_fname != nullptr) path = own.dli_fname;
  // The loader keeps the name that it was given, and the working directory may be another by now.
  if (!path.starts_with('/')) path = MappedFile(own_code);
  return path.substr(0, path.rfind('/') + 1);
}

Error Missing(const std::string& tried) {
  return {CCCL_CACHE_UNAVAILABLE,
          "cccl-cache-compile is missing (looked for " + tried + "): install it with the library"};
}

}  // namespace

Expected<std::string> FindLocalCompiler(const std::string& named) {
  if (!named.empty()) {
    if (access(named.c_str(), X_OK) == 0) return named;
    return Missing(named);
  }
  const std::string directory = OwnDirectory();
  std::string tried;
  for (const char* place : kPlaces) {
    const std::string path = directory + place;
    if (!directory.empty() && access(path.c_str(), X_OK) == 0) return path;
    tried += (tried.empty() ? "" : ", ") + path;
  }
  return Missing(tried);
}

}  // namespace cccl_cache
