// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "daemon/compile/protocol/frame.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// One library of a toolchain. It stays loaded until the process ends, because dlclose does not
/// remove all state of a compiler.
class SharedLibrary {
 public:
  /// Loads the library from its absolute path, with RTLD_LOCAL. First loads the other libraries in
  /// `files`, on which it depends, so that the dynamic linker does not search for them.
  [[nodiscard]] static Result<SharedLibrary> Open(const LibraryFiles& files);

  /// Sets `function` to the address of the symbol, or to null if the library lacks it.
  template <typename Function>
  void Find(const char* symbol, Function*& function) const {
    function = reinterpret_cast<Function*>(Symbol(symbol));
  }

  /// Like Find, for a function that every release has. If the library lacks it, Complete() fails.
  template <typename Function>
  void Need(const char* symbol, Function*& function) {
    Find(symbol, function);
    if (function == nullptr && missing_.empty()) missing_ = symbol;
  }

  /// Returns an error with the name of the first function that Need() did not find. Ok: none is
  /// missing.
  [[nodiscard]] Status Complete() const;

 private:
  SharedLibrary(std::string path, void* handle) : path_(std::move(path)), handle_(handle) {}
  [[nodiscard]] void* Symbol(const char* symbol) const;

  std::string path_;
  void* handle_;
  std::string missing_;
};

/// Returns the output of a compiler library that has one function for the size and one that copies
/// the bytes. The result is empty if the output is empty, if the library lacks one of the
/// functions, or if one fails.
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

/// Like CompilerBytes, for a text. Removes the NUL that the size includes.
template <typename SizeFunction, typename CopyFunction, typename Handle>
std::string CompilerText(SizeFunction size_function, CopyFunction copy_function, Handle handle) {
  std::string text = CompilerBytes(size_function, copy_function, handle);
  while (text.ends_with('\0')) text.pop_back();
  return text;
}

}  // namespace cccl_cache::daemon
