// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/command.h"

#include <CLI/App.hpp>

#include "cli/remote/keys.h"
#include "cli/remote/status.h"

namespace cccl_cache::cli {

void AddRemoteCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  CLI::App* command = app->add_subcommand(
      "remote", "The nodes that share results through Redis: its state, and their keys");
  command->group("Entries");
  command->require_subcommand(1);
  command->footer(
      "A node takes only entries that a key of its list signed.\n"
      "Example: cccl-cache-cli remote status");
  AddWhenParsed(command, common, [command, &common, exit_code] {
    AddRemoteStatusCommand(command, common, exit_code);
    AddKeyCommands(command, common, exit_code);
  });
}

}  // namespace cccl_cache::cli
