// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/interpose/daemon.h"

namespace cccl_cache::interpose {

/// Result codes of NVRTC, the same in all releases.
enum NvrtcResult : int {
  kSuccess = 0,
  kInvalidInput = 3,
  kInvalidProgram = 4,
  kInvalidOption = 5,
  kNoLoweredNamesBeforeCompilation = 9,
  kNameExpressionNotValid = 10,
  kInternalError = 11,
  kNoPchCreateAttempted = 13,
};
using NvrtcHandle = struct NvrtcOpaque*;

/// The object behind a program's nvrtcProgram. The daemon does its first compile. At the first call
/// that the daemon can't answer, the program is made in the real library with all calls so far, and
/// the real library answers from then on. Not thread-safe, like NVRTC itself.
class NvrtcProgram {
 public:
  struct Header {
    std::string name;
    std::string contents;
  };

  /// `name` may be null.
  NvrtcProgram(const char* source, const char* name, std::vector<Header> headers);
  ~NvrtcProgram();
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;

  /// To be called before Compile.
  NvrtcResult AddNameExpression(const char* expression);
  NvrtcResult Compile(int count, const char* const* options);

  /// Returns the real library's program if that answers; else null.
  [[nodiscard]] NvrtcHandle real() const { return real_; }
  /// Makes the program in the real library. Returns its result code.
  NvrtcResult Forward();

  // The results of the daemon's compile; empty before it.
  [[nodiscard]] bool compiled() const { return compiled_.has_value(); }
  [[nodiscard]] bool succeeded() const { return compiled() && code_ == kSuccess; }
  [[nodiscard]] std::string_view Artifact(cccl_cache_artifact_kind kind) const;
  [[nodiscard]] std::string_view log() const { return log_; }
  /// Returns null if there is no such expression.
  [[nodiscard]] const char* LoweredName(const char* expression) const;

 private:
  [[nodiscard]] std::optional<Reason> CompileInDaemon(const std::vector<std::string>& options);
  NvrtcResult CompileInReal(int count, const char* const* options);
  void Take(Result result, const cccl_cache_result_info& info);

  const std::string source_;
  const std::optional<std::string> name_;
  const std::vector<Header> headers_;
  std::vector<std::string> expressions_;
  std::optional<std::vector<std::string>> compiled_;  ///< the options of the daemon's compile
  NvrtcResult code_ = kSuccess;                       ///< result code of the daemon's compile
  NvrtcHandle real_ = nullptr;

  Result result_;  ///< the views below point into it
  std::map<cccl_cache_artifact_kind, std::string_view> artifacts_;
  std::map<std::string, std::string_view, std::less<>> lowered_;
  std::string_view log_;
};

}  // namespace cccl_cache::interpose
