// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/local_compiler_path.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>

namespace cccl_cache {
namespace {

// Relative to the library, so that an installation can be moved as a whole.
constexpr std::array<const char*, 3> kPlaces = {CCCL_CACHE_INSTALLED_COMPILER, "cccl-cache-compile",
                                                CCCL_CACHE_BUILT_COMPILER};

std::string OwnDirectory() {
  Dl_info own = {};
  if (dladdr(reinterpret_cast<const void*>(&FindLocalCompiler), &own) == 0) return {};
  const std::string path = own.dli_fname == nullptr ? "" : own.dli_fname;
  const size_t slash = path.rfind('/');
  // A program that was started by its bare name: nothing is known of where it lies.
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
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
