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

/// The result of a build, and a description of it.
struct Answer {
  Result result;
  cccl_cache_result_info info{};  ///< its texts are valid as long as the result
};

/// The functions below send builds to the daemon, for the real library that this stand-in replaces.
/// If the daemon is absent, stopped or full, a call takes at most about 1 s, and then no call is
/// sent during a pause (see CircuitBreaker). All functions are thread-safe, and usable after
/// fork().

/// Compiles or links in the daemon exactly as the real library would. Returns the result, or the
/// reason why the daemon made none. A compile error is a result too.
[[nodiscard]] std::variant<Answer, Reason> Ask(const cccl_cache_nvrtc& program);
[[nodiscard]] std::variant<Answer, Reason> Ask(const cccl_cache_link& program);
[[nodiscard]] std::variant<Answer, Reason> Ask(const cccl_cache_nvvm& program);
/// Adds a result, which the program receives, to the counts of the report.
void Count(const cccl_cache_result_info& info);
/// Returns the architectures that the real library accepts; empty if the daemon can't be asked or
/// does not know the library.
[[nodiscard]] std::vector<int> Architectures();

}  // namespace cccl_cache::interpose
