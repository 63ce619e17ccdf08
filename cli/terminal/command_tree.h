// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/terminal/command.h"

namespace cccl_cache::cli {

/// Returns cccl-cache-cli with all its commands. A parse writes to `common` and, if a command ran,
/// to `exit_code`; both must outlive the tree.
[[nodiscard]] std::unique_ptr<CLI::App> MakeCommandTree(CommonOptions* common, int* exit_code);

// Reading a tree, for help texts, messages, completions and man pages.

/// The commands below this one, in the order of --help.
[[nodiscard]] std::vector<const CLI::App*> CommandsOf(const CLI::App& command);
/// The command and all its subcommands, each before its own.
[[nodiscard]] std::vector<const CLI::App*> WholeTree(const CLI::App& command);
/// "cccl-cache-cli snapshot create"
[[nodiscard]] std::string FullName(const CLI::App& command);
/// The same without the program: "snapshot create", or nothing.
[[nodiscard]] std::string PathOf(const CLI::App& command);

/// The options of the command, then those of its parents, which may follow it as well.
[[nodiscard]] std::vector<const CLI::Option*> OptionsOf(const CLI::App& command);
[[nodiscard]] std::vector<const CLI::Option*> ArgumentsOf(const CLI::App& command);
/// "-o", "--output"
[[nodiscard]] std::vector<std::string> NamesOf(const CLI::Option& option);
/// Whether the option takes the next word.
[[nodiscard]] bool TakesValue(const CLI::Option& option);
/// The values that AcceptOnly() named; empty if there is no such set.
[[nodiscard]] std::vector<std::string> ChoicesOf(const CLI::Option& option);

}  // namespace cccl_cache::cli
