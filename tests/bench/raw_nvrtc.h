// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace cccl_cache::daemon {

/// Compiles with NVRTC in this process, as a program without the cache does. Not thread-safe.
class RawNvrtc {
 public:
  /// Loads the library, which is never unloaded. If that fails, prints the reason to stderr and
  /// returns null.
  static std::unique_ptr<RawNvrtc> Load(const std::string& path);

  /// Compiles to a cubin. If that fails, prints the log to stderr and returns "".
  std::string Compile(const std::string& source, const std::vector<std::string>& options);
  /// Compiles a program with kernels of these names to LTO-IR.
  std::string CompileToLtoIr(const std::string& source, const std::vector<std::string>& options,
                             const std::vector<std::string>& name_expressions);

 private:
  using Program = struct _nvrtcProgram*;
  struct Output {
    int (*size)(Program, size_t*);
    int (*bytes)(Program, char*);
  };

  RawNvrtc() = default;
  bool Find(void* library);
  std::string CompileTo(const Output& output, const std::string& source,
                        const std::vector<std::string>& options,
                        const std::vector<std::string>& name_expressions);
  std::string Take(Program program, const Output& output, const std::vector<std::string>& options,
                   const std::vector<std::string>& name_expressions);
  void PrintLog(Program program);

  int (*create_)(Program*, const char*, const char*, int, const char* const*,
                 const char* const*) = nullptr;
  int (*destroy_)(Program*) = nullptr;
  int (*compile_)(Program, int, const char* const*) = nullptr;
  int (*log_size_)(Program, size_t*) = nullptr;
  int (*log_)(Program, char*) = nullptr;
  int (*add_expression_)(Program, const char*) = nullptr;
  int (*lowered_name_)(Program, const char*, const char**) = nullptr;
  Output cubin_ = {};
  Output ltoir_ = {};
};

}  // namespace cccl_cache::daemon
