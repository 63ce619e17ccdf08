// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/terminal/command.h"

namespace cccl_cache::cli {

/// Adds the commands below `remote` that make keys and keep the list of trusted ones. They need no
/// daemon.
void AddKeyCommands(CLI::App* remote, const CommonOptions& common, int* exit_code);

}  // namespace cccl_cache::cli
