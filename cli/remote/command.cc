// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include "cli/remote/keys.h"

namespace cccl_cache::cli {

void AddRemoteCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  CLI::App* command = app->add_subcommand(
      "remote", "Keys of the nodes that share results: make, trust, revoke and list them");
  command->group("Entries");
  command->require_subcommand(1);
  command->footer(
      "A node takes from others only what a key of its list signed.\n"
      "Example: cccl-cache-cli remote keys");
  AddWhenParsed(command, common,
                [command, &common, exit_code] { AddKeyCommands(command, common, exit_code); });
}

}  // namespace cccl_cache::cli
