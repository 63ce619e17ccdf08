// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string>

namespace cccl_cache::interpose {

/// The environment variable with the group that `run --group` names.
inline constexpr char kGroupVariable[] = "CCCL_CACHE_GROUP";

/// Returns the group with which this process shares the deposits of tools: a name, or a number.
/// Empty: deposits are private to the user.
[[nodiscard]] inline std::string RunGroup() {
  const char* const variable = secure_getenv(kGroupVariable);
  return variable == nullptr ? "" : variable;
}

}  // namespace cccl_cache::interpose
