// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string_view>

#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// Makes the directory and what is missing above it. What is there stays as it is.
[[nodiscard]] Status MakeDirectories(const std::filesystem::path& directory, mode_t mode);

/// Checks that nobody but root and this process's user can replace what lies in the directory, nor
/// the directory itself, by the path as it is spelled and as it is once symlinks are followed. A
/// sticky directory will do on the way, and so will a group that is this user's alone. kDenied
/// names the directory and the way out; `danger` is what others could do: "put a socket of their
/// own there".
[[nodiscard]] Status CheckOwnDirectory(const std::filesystem::path& directory,
                                       std::string_view danger);

}  // namespace cccl_cache::daemon
