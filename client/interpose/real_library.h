// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>

#include "client/src/calls/file_digest.h"

namespace cccl_cache::interpose {

/// The library that the program would have loaded. It is opened where the program would have opened
/// it, and stays open: later the program may have no right to the file, no descriptor left, or
/// another file there. Preloaded, the stand-in does not know when that is, and opens it at the
/// first call that needs the daemon or the library. All functions are thread-safe, and usable after
/// fork().

/// Returns its path, without links; empty if unknown.
[[nodiscard]] const std::string& RealPath();
/// Returns its files, as they were at the first call.
[[nodiscard]] const Component& RealComponent();
/// Opens it, and its builtins, as it does itself at its first compile. Returns whether they are
/// those beside it, or others with the same bytes: the loader looks for them in LD_LIBRARY_PATH
/// first.
bool OpenWithOwnBuiltins();
/// Returns whether its path no longer leads to the file that was opened.
[[nodiscard]] bool RealFileWasReplaced();
/// Returns one of its functions, or null if it lacks it or can't be opened.
[[nodiscard]] void* RealSymbol(const char* name);

/// Returns the real library's function, or null. Looks it up once. `other`: its name in releases
/// that lack the first.
template <auto function>
decltype(function) RealFunction(const char* name, const char* other = nullptr) {
  static std::atomic<decltype(function)> found{nullptr};
  if (found == nullptr) found = reinterpret_cast<decltype(function)>(RealSymbol(name));
  if (found == nullptr && other != nullptr) {
    found = reinterpret_cast<decltype(function)>(RealSymbol(other));
  }
  return found;
}
#define REAL(function) cccl_cache::interpose::RealFunction<&(function)>(#function)

}  // namespace cccl_cache::interpose
