// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/terminal/command.h"

namespace cccl_cache::cli {

/// Adds `remote status`, which asks the daemon.
void AddRemoteStatusCommand(CLI::App* remote, const CommonOptions& common, int* exit_code);

}  // namespace cccl_cache::cli
