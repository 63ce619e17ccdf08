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

// Functions that read a tree, for help texts, messages, completions and man pages.

/// Returns the direct subcommands, in the order of --help.
[[nodiscard]] std::vector<const CLI::App*> CommandsOf(const CLI::App& command);
/// Returns the command and all its subcommands, each command before its own.
[[nodiscard]] std::vector<const CLI::App*> WholeTree(const CLI::App& command);
/// Returns "cccl-cache-cli snapshot create".
[[nodiscard]] std::string FullName(const CLI::App& command);
/// Returns the name without the program: "snapshot create", or "".
[[nodiscard]] std::string PathOf(const CLI::App& command);

/// Returns the command's options, then those of its parents, which may follow it too.
[[nodiscard]] std::vector<const CLI::Option*> OptionsOf(const CLI::App& command);
[[nodiscard]] std::vector<const CLI::Option*> ArgumentsOf(const CLI::App& command);
/// Returns "-o" and "--output".
[[nodiscard]] std::vector<std::string> NamesOf(const CLI::Option& option);
/// Returns whether the option takes the next word.
[[nodiscard]] bool TakesValue(const CLI::Option& option);
/// Returns the values that AcceptOnly() named; empty if it was not called.
[[nodiscard]] std::vector<std::string> ChoicesOf(const CLI::Option& option);

}  // namespace cccl_cache::cli
