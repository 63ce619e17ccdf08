// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cccl_cache/client.h"
#include "cli/command.h"

namespace cccl_cache::cli {

/// Prints why a build is a miss, in words or as JSON; returns the exit code.
int Report(const Explanation& explanation, const CommonOptions& common);

}  // namespace cccl_cache::cli
