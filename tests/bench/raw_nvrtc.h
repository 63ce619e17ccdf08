// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace cccl_cached {

/// NVRTC as a program that compiles by itself calls it: loaded into this process, nothing of ours
/// between. Thread-compatible.
class RawNvrtc {
 public:
  /// Null: it could not be loaded; says why on stderr. The library stays loaded.
  static std::unique_ptr<RawNvrtc> Load(const std::string& path);

  /// The cubin; empty: it does not compile. Puts the log on stderr then.
  std::string Compile(const std::string& source, const std::vector<std::string>& options);

 private:
  using Program = struct _nvrtcProgram*;

  RawNvrtc() = default;
  bool Find(void* library);
  std::string Cubin(Program program, const std::vector<const char*>& options);
  void PrintLog(Program program);

  int (*create_)(Program*, const char*, const char*, int, const char* const*,
                 const char* const*) = nullptr;
  int (*destroy_)(Program*) = nullptr;
  int (*compile_)(Program, int, const char* const*) = nullptr;
  int (*log_size_)(Program, size_t*) = nullptr;
  int (*log_)(Program, char*) = nullptr;
  int (*cubin_size_)(Program, size_t*) = nullptr;
  int (*cubin_)(Program, char*) = nullptr;
};

}  // namespace cccl_cached
