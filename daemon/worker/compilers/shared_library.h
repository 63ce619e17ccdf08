// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "daemon/compile/protocol/frame.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// One library of a toolchain, loaded for the life of the process: compilers leave state behind
/// that no dlclose removes.
class SharedLibrary {
 public:
  /// Opens the library by its absolute path, with local symbols. Opens the libraries that it
  /// depends on first, so that the loader does not search for them.
  [[nodiscard]] static Result<SharedLibrary> Open(const LibraryFiles& files);

  /// Points `function` at the symbol; null if the library lacks it.
  template <typename Function>
  void Find(const char* symbol, Function*& function) const {
    function = reinterpret_cast<Function*>(Symbol(symbol));
  }

  /// Like Find, for a function that every release has. A missing one makes Complete() fail.
  template <typename Function>
  void Need(const char* symbol, Function*& function) {
    Find(symbol, function);
    if (function == nullptr && missing_.empty()) missing_ = symbol;
  }

  /// Returns an error if a function that Need() looked for is missing.
  [[nodiscard]] Status Complete() const;

 private:
  SharedLibrary(std::string path, void* handle) : path_(std::move(path)), handle_(handle) {}
  [[nodiscard]] void* Symbol(const char* symbol) const;

  std::string path_;
  void* handle_;
  std::string missing_;
};

/// Returns the bytes that a compiler library gives by a size function and a copy function. Empty if
/// there are none, if the library lacks the functions, or if they fail.
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

/// Like CompilerBytes, for a text, whose size includes a NUL at its end.
template <typename SizeFunction, typename CopyFunction, typename Handle>
std::string CompilerText(SizeFunction size_function, CopyFunction copy_function, Handle handle) {
  std::string text = CompilerBytes(size_function, copy_function, handle);
  while (text.ends_with('\0')) text.pop_back();
  return text;
}

}  // namespace cccl_cache::daemon
