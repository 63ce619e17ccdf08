// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/terminal/command.h"

namespace cccl_cache::cli {

/// Adds the commands below `remote` that make keys and edit the list of trusted keys. They need no
/// daemon.
void AddKeyCommands(CLI::App* remote, const CommonOptions& common, int* exit_code);

}  // namespace cccl_cache::cli
