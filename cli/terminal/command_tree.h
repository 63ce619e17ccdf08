// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/terminal/command.h"

namespace cccl_cache::cli {

/// Returns the parser for the command line of cccl-cache-cli. Parsing stores options in `common`,
/// and a command that runs stores its exit code in `exit_code`. Both must outlive the parser.
[[nodiscard]] std::unique_ptr<CLI::App> MakeCommandTree(CommonOptions* common, int* exit_code);

// The functions below read a command tree. They are used for help texts, messages, completions and
// man pages.

/// Returns the direct subcommands, in the order of --help.
[[nodiscard]] std::vector<const CLI::App*> CommandsOf(const CLI::App& command);
/// Returns the command and all its direct and indirect subcommands. Each command comes before its
/// subcommands.
[[nodiscard]] std::vector<const CLI::App*> WholeTree(const CLI::App& command);
/// Returns the name with those of all parents, such as "cccl-cache-cli snapshot create".
[[nodiscard]] std::string FullName(const CLI::App& command);
/// Returns the same without the program's name, such as "snapshot create". Returns "" for the
/// program itself.
[[nodiscard]] std::string PathOf(const CLI::App& command);

/// Returns the command's options, and then those of its parents, which are also accepted after the
/// command.
[[nodiscard]] std::vector<const CLI::Option*> OptionsOf(const CLI::App& command);
[[nodiscard]] std::vector<const CLI::Option*> ArgumentsOf(const CLI::App& command);
/// Returns all names of the option with their dashes, such as "-o" and "--output".
[[nodiscard]] std::vector<std::string> NamesOf(const CLI::Option& option);
/// Returns whether the option has a value, so that it is no flag.
[[nodiscard]] bool TakesValue(const CLI::Option& option);
/// Returns the values that AcceptOnly() has set for the option; empty if it was not called.
[[nodiscard]] std::vector<std::string> ChoicesOf(const CLI::Option& option);

}  // namespace cccl_cache::cli
