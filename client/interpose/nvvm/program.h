// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/interpose/daemon.h"

namespace cccl_cache::interpose {

/// A result code of libNVVM. Only success has a meaning here.
using NvvmResult = int;
using NvvmHandle = struct NvvmOpaque*;

/// The stand-in's state of an nvvmProgram of the real library. The real library gets every call
/// but the first compile, which the daemon does. If the daemon's result can't answer a call, the
/// real library repeats the compile and answers from then on. Not thread-safe, like a program of
/// libNVVM.
class NvvmProgram {
 public:
  explicit NvvmProgram(NvvmHandle real) : real_(real) {}
  NvvmProgram(const NvvmProgram&) = delete;
  NvvmProgram& operator=(const NvvmProgram&) = delete;

  /// Records a module that the real library has accepted. The contents are copied.
  void Added(const char* contents, size_t size, const char* name, bool lazy);
  /// Records that the real library refused a call or wrote a log, so that it must compile too.
  void BecameUnusual() { unusual_ = true; }
  NvvmResult Compile(int count, const char** options);
  /// Returns whether the daemon's result answers.
  [[nodiscard]] bool served() const { return served_; }
  /// If the daemon's result answers, repeats the compile in the real library, which answers all
  /// later calls.
  void Forward();

  // The functions below may be called only if served(). Both texts are followed by a NUL.
  /// Returns the output as nvvmGetCompiledResult does: PTX with its NUL, or LTO-IR.
  [[nodiscard]] std::string_view output() const { return output_; }
  [[nodiscard]] std::string_view log() const { return log_; }

 private:
  struct Module {
    std::string name;
    std::string contents;
    bool lazy;
  };

  [[nodiscard]] std::optional<Reason> CompileInDaemon();

  const NvvmHandle real_;
  std::vector<Module> modules_;
  std::vector<std::string> options_;  ///< of the first compile
  bool compiled_ = false;
  bool unusual_ = false;
  bool served_ = false;
  Result result_;  ///< owns the bytes that the views below point to
  std::string_view output_;
  std::string_view log_;
};

}  // namespace cccl_cache::interpose
