// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>

#include "client/src/calls/file_digest.h"

namespace cccl_cache::interpose {

/// The library that the program would have loaded. With the auditor it is opened when the stand-in
/// is loaded, and stays open: later the program may have lost the right to the file, have no
/// descriptor left, or find another file there. A preloaded stand-in opens it at the first call
/// that needs the daemon or the library. All functions are thread-safe, and usable after fork().

/// Returns the library's real path; "" if unknown.
[[nodiscard]] const std::string& RealPath();
/// Returns the state of the library's files at the first call.
[[nodiscard]] const Component& RealComponent();
/// Opens the library and its builtins, as the library itself does at its first compile. The loader
/// prefers builtins in LD_LIBRARY_PATH: returns whether it found those beside the library, or
/// others with the same bytes.
bool OpenWithOwnBuiltins();
/// Returns whether the library's path leads to another file than the one that was opened.
[[nodiscard]] bool RealFileWasReplaced();
/// Returns one of the library's functions, or null if it lacks it or can't be opened.
[[nodiscard]] void* RealSymbol(const char* name);

/// Returns the real library's function, or null. Looks it up once. `other`: the function's name in
/// releases without the first one.
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
