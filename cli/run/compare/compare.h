// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <variant>

#include "cli/run/environment.h"
#include "cli/terminal/command.h"

namespace cccl_cache::cli {

/// Returns the environment variables for a program that uses the daemon at this socket, or an exit
/// code after a message.
using VariablesFor = std::function<std::variant<Variables, int>(const std::string& socket)>;

/// Runs the program three times: without the cache, and twice with a daemon whose cache is empty
/// before. Prints what each took and what became of its compiles. The program's standard output
/// goes to standard error. Returns the exit code, or ends by the program's signal.
int Compare(const CommonOptions& common, const VariablesFor& variables);

}  // namespace cccl_cache::cli
