// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>

#include "client/src/calls/file_digest.h"

namespace cccl_cache::interpose {

/// The functions below give access to the real library, the one that the program would have loaded
/// without the stand-in. A stand-in that the auditor loaded opens it at once and keeps it open:
/// later the program may have lost the permission to read the file, have no free descriptor, or
/// find another file under the path. A preloaded stand-in opens it at the first call that needs the
/// daemon or the library. All functions are thread-safe, and usable after fork().

/// Returns the library's path with symlinks resolved, or "" if it is unknown.
[[nodiscard]] const std::string& RealPath();
/// Returns the paths and the state of the library's files, as they were at the first call.
[[nodiscard]] const Component& RealComponent();
/// Opens the library, and also its builtins library, as the real library does at its first compile.
/// The loader prefers a builtins file in LD_LIBRARY_PATH. Returns whether it found the file beside
/// the library, or another one with the same bytes.
bool OpenWithOwnBuiltins();
/// Returns whether the library's file was replaced or removed after it was opened.
[[nodiscard]] bool RealFileWasReplaced();
/// Returns a pointer to the library's function. Null if the library has no such function or can't
/// be opened.
[[nodiscard]] void* RealSymbol(const char* name);

/// Returns a pointer to the real library's function, or null. The result is kept for later calls.
/// `other` is the function's name in releases that do not export `name`.
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
