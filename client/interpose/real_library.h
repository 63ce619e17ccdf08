// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>

namespace cccl_cache::interpose {

/// The library that the program would have loaded. It is loaded only when a call must be forwarded
/// to it, and stays loaded. All functions are thread-safe, and usable after fork().

/// Returns its path, without links; empty if nothing told it.
[[nodiscard]] const std::string& RealPath();
struct Version {
  int major = 0;
  int minor = 0;
};
/// Returns its version by the name of the builtins beside it, without loading it; zeros if there
/// are none.
[[nodiscard]] Version RealVersion();
/// Returns whether it would load the builtins beside it, or others with the same bytes: the loader
/// looks for them in LD_LIBRARY_PATH first.
[[nodiscard]] bool UsesOwnBuiltins();
/// Returns one of its functions, or null if it lacks it or can't be loaded.
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
