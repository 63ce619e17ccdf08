// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

namespace cccl_cache::daemon {

/// Sets `function` to the library's function of this name. Returns whether there is one.
template <typename Function>
bool FindSymbol(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace cccl_cache::daemon
