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

/// Names and values of environment variables.
using Variables = std::vector<std::pair<std::string, std::string>>;

/// The way in which the loader maps the stand-ins.
enum class How {
  kBest,     ///< LD_AUDIT if it is free of cost here and not in use, else LD_PRELOAD
  kAudit,    ///< LD_AUDIT: each library that the program loads, by any path
  kPreload,  ///< LD_PRELOAD: only libraries that the loader now finds by their bare names
};

/// Returns the variables with which a program and its children compile through the daemon. `wait`:
/// limit of each wait for a compile by the daemon; none: no limit. `socket`: the daemon's; empty:
/// the default. Fails if the stand-ins are not installed, or this system's loader can't use them.
[[nodiscard]] Expected<Variables> RunEnvironment(How how,
                                                 std::optional<std::chrono::milliseconds> wait,
                                                 const std::string& socket);

/// Replaces this process by a program with these variables. Returns, with errno, only if the
/// program can't be started.
void Execute(const std::vector<std::string>& words, const Variables& variables);

}  // namespace cccl_cache::cli
