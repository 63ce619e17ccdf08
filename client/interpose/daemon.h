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
  cccl_cache_result_info info{};  ///< its texts point into the result
};

/// The daemon, for builds with the library that this one replaces. Each attempt at a daemon that is
/// absent, stopped or full costs a program at most about a second; in between it is not asked. All
/// functions are thread-safe, and usable after fork().

/// Compiles or links as the real library would here and now, or returns why the daemon did not. A
/// program that does not compile is a result, too.
[[nodiscard]] std::variant<Answer, Reason> Ask(const cccl_cache_nvrtc& program);
[[nodiscard]] std::variant<Answer, Reason> Ask(const cccl_cache_link& program);
/// Counts a result that the program gets.
void Count(const cccl_cache_result_info& info);
/// Returns the numbers of the architectures that the library accepts; empty: unknown to the daemon.
[[nodiscard]] std::vector<int> Architectures();

}  // namespace cccl_cache::interpose
