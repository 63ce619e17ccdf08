// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// Makes the directory and its missing parents, unless other users could replace it or its contents
/// (base/files/own_path.h). Returns its path without links, so that no other user can change its
/// target. kDenied has the reason. `danger` is the harm that others could do: "put a socket of
/// their own there".
[[nodiscard]] Result<std::string> MakeOwnDirectory(const std::string& directory, mode_t mode,
                                                   std::string_view danger);

/// Makes the directory and its missing parents. Existing directories do not change.
[[nodiscard]] Status MakeDirectories(const std::filesystem::path& directory, mode_t mode);

/// Checks that only root and this process's user can replace the directory or its contents. Checks
/// both the given path and the path with symlinks followed. A sticky directory on the way is
/// accepted, and so is a group whose only member is this user. kDenied names the directory and the
/// remedy. `danger` is the harm that others could do: "put a socket of their own there".
[[nodiscard]] Status CheckOwnDirectory(const std::filesystem::path& directory,
                                       std::string_view danger);

/// Checks that only root and this process's user can write the file. A group whose only member is
/// this user is accepted. The directories of the path are not checked. Errors as CheckOwnDirectory.
[[nodiscard]] Status CheckOwnFile(const std::filesystem::path& file, std::string_view danger);

}  // namespace cccl_cache::daemon
