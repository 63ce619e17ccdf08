// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace cccl_cache::daemon {

/// What a pair of functions "how long is it" and "copy it" of a compiler library holds; empty if
/// there is nothing, if the library has no such functions, or if they fail.
template <typename SizeFunction, typename CopyFunction, typename Handle>
std::string CompilerBytes(SizeFunction size_function, CopyFunction copy_function, Handle handle) {
  size_t size = 0;
  if (size_function == nullptr || copy_function == nullptr || size_function(handle, &size) != 0 ||
      size == 0) {
    return {};
  }
  std::string bytes(size, '\0');
  if (copy_function(handle, bytes.data()) != 0) return {};
  return bytes;
}

/// The same for a text, which the libraries end with a NUL that they count.
template <typename SizeFunction, typename CopyFunction, typename Handle>
std::string CompilerText(SizeFunction size_function, CopyFunction copy_function, Handle handle) {
  std::string text = CompilerBytes(size_function, copy_function, handle);
  while (text.ends_with('\0')) text.pop_back();
  return text;
}

}  // namespace cccl_cache::daemon
