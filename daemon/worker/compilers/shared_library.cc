// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/compilers/shared_library.h"

#include <dlfcn.h>

namespace cccl_cache::daemon {
namespace {

/// Opens a library. It calls dlmopen, because in this executable dlopen is a function for the
/// compilers that loads nothing (file_functions.cc).
Result<void*> Load(const std::string& path) {
  if (void* handle = dlmopen(LM_ID_BASE, path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  const char* reason = dlerror();
  return Error{ErrorCode::kUnavailable,
               "loading " + path + ": " + (reason != nullptr ? reason : "no reason given")};
}

}  // namespace

Result<SharedLibrary> SharedLibrary::Open(const LibraryFiles& files) {
  for (const std::string& path : files.preload) {
    if (Result<void*> preloaded = Load(path); !preloaded) return preloaded.error();
  }
  Result<void*> handle = Load(files.path);
  if (!handle) return handle.error();
  return SharedLibrary(files.path, *handle);
}

void* SharedLibrary::Symbol(const char* symbol) const { return dlsym(handle_, symbol); }

Status SharedLibrary::Complete() const {
  if (missing_.empty()) return Ok{};
  return Error{ErrorCode::kUnavailable, path_ + " has no function " + missing_};
}

}  // namespace cccl_cache::daemon
