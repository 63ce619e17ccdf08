// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/terminal/command.h"
#include "proto/signature.h"

namespace cccl_cache::cli {

/// Returns the key that signed the snapshot FILE, with its FILE.sig: one of those in the files
/// `trusted`. An error says why it is not signed so.
[[nodiscard]] Expected<PublicKey> SignerOf(const std::string& file,
                                           const std::vector<std::string>& trusted);

/// Adds `snapshot sign`. `common` and `exit_code` must outlive the app.
void AddSignCommand(CLI::App* snapshot, const CommonOptions& common, int* exit_code);

}  // namespace cccl_cache::cli
