// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/terminal/command.h"
#include "proto/signature.h"

namespace cccl_cache::cli {

/// Returns the key that signed the snapshot FILE in FILE.sig; it must be in one of the files
/// `trusted`. The error says why there is no such signature.
[[nodiscard]] Expected<PublicKey> SignerOf(const std::string& file,
                                           const std::vector<std::string>& trusted);

/// Adds `snapshot sign`. `common` and `exit_code` must outlive the app.
void AddSignCommand(CLI::App* snapshot, const CommonOptions& common, int* exit_code);

}  // namespace cccl_cache::cli
