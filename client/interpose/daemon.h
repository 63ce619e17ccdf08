// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "cccl_cache/client_c.h"
#include "client/interpose/report.h"

namespace cccl_cache::interpose {

struct FreeResult {
  void operator()(cccl_cache_result* result) const { cccl_cache_result_free(result); }
};
using Result = std::unique_ptr<cccl_cache_result, FreeResult>;

/// A result with its fields.
struct Answer {
  Result result;
  cccl_cache_result_info info{};  ///< its texts are valid as long as the result
};

/// The daemon, for builds with the library that this stand-in replaces. An attempt to reach a
/// daemon that is absent, stopped or full costs a program at most about 1 s; then the daemon is not
/// asked for a while. All functions are thread-safe, and usable after fork().

/// Compiles or links exactly as the real library would, or returns why the daemon did not. A
/// compile error is a result too.
[[nodiscard]] std::variant<Answer, Reason> Ask(const cccl_cache_nvrtc& program);
[[nodiscard]] std::variant<Answer, Reason> Ask(const cccl_cache_link& program);
/// Adds a result that the program gets to the report.
void Count(const cccl_cache_result_info& info);
/// Returns the architectures that the library accepts; empty if the daemon does not know them.
[[nodiscard]] std::vector<int> Architectures();

}  // namespace cccl_cache::interpose
