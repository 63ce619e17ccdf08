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

/// Result codes of NVRTC. All releases have the same numbers.
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

/// The object behind an nvrtcProgram of the program. The daemon does the first compile. At the
/// first call that the daemon's result can't answer, the program is created in the real library,
/// all calls so far are repeated there, and the real library answers all later calls. Not
/// thread-safe, like NVRTC itself.
class NvrtcProgram {
 public:
  struct Header {
    std::string name;
    std::string contents;
  };

  /// `name` may be null, as in nvrtcCreateProgram. The texts are copied.
  NvrtcProgram(const char* source, const char* name, std::vector<Header> headers);
  ~NvrtcProgram();
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;

  /// Must be called before Compile().
  NvrtcResult AddNameExpression(const char* expression);
  NvrtcResult Compile(int count, const char* const* options);

  /// Returns the real library's handle of this program. Null while the daemon's result answers.
  [[nodiscard]] NvrtcHandle real() const { return real_; }
  /// Creates the program in the real library and repeats all calls so far. Does nothing if that was
  /// done before. Returns the result code of the call that failed, or kSuccess.
  NvrtcResult Forward();

  // The functions below return results of the daemon's compile. Before it they are empty.
  [[nodiscard]] bool compiled() const { return compiled_.has_value(); }
  [[nodiscard]] bool succeeded() const { return compiled() && code_ == kSuccess; }
  [[nodiscard]] std::string_view Artifact(cccl_cache_artifact_kind kind) const;
  [[nodiscard]] std::string_view log() const { return log_; }
  /// Returns the lowered name of the expression, or null if the expression was not added.
  [[nodiscard]] const char* LoweredName(const char* expression) const;

 private:
  [[nodiscard]] std::optional<Reason> CompileInDaemon(const std::vector<std::string>& options);
  NvrtcResult CompileInReal(int count, const char* const* options);
  void Take(Result result, const cccl_cache_result_info& info);

  const std::string source_;
  const std::optional<std::string> name_;
  const std::vector<Header> headers_;
  std::vector<std::string> expressions_;
  std::optional<std::vector<std::string>> compiled_;  ///< options of the daemon's compile, if any
  NvrtcResult code_ = kSuccess;                       ///< result code of the daemon's compile
  NvrtcHandle real_ = nullptr;

  Result result_;  ///< owns the bytes that the views below point to
  std::map<cccl_cache_artifact_kind, std::string_view> artifacts_;
  std::map<std::string, std::string_view, std::less<>> lowered_;
  std::string_view log_;
};

}  // namespace cccl_cache::interpose
