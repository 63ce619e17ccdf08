// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cccl_cache/expected.h"

namespace cccl_cache::cli {

/// Names and values of variables.
using Variables = std::vector<std::pair<std::string, std::string>>;

/// How the loader is made to map the stand-ins.
enum class How {
  kBest,     ///< by LD_AUDIT where this loader can do it well and nothing else uses it
  kAudit,    ///< LD_AUDIT: each library that the program loads, by any path
  kPreload,  ///< LD_PRELOAD: only the libraries that the loader finds now by their bare names
};

/// Returns the variables under which a program and its children compile through the daemon.
/// `wait`: bounds how long each waits for a compile by the daemon; none: no bound. `socket`: of the
/// daemon; empty: the default. Fails if the stand-ins are not installed, or if the
/// loader of this system can't use them.
[[nodiscard]] Expected<Variables> RunEnvironment(How how,
                                                 std::optional<std::chrono::milliseconds> wait,
                                                 const std::string& socket);

/// Replaces this process by a program with these variables, as if they had been set before. Returns
/// only if it can't be started, with errno.
void Execute(const std::vector<std::string>& words, const Variables& variables);

}  // namespace cccl_cache::cli
