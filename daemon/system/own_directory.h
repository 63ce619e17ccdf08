// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// Makes the directory and its missing parents, unless other users could replace it or what lies in
/// it (base/files/own_path.h). Returns its path without links, which no other user can make lead
/// elsewhere. kDenied says why not; `danger` is what others could do: "put a socket of their own
/// there".
[[nodiscard]] Result<std::string> MakeOwnDirectory(const std::string& directory, mode_t mode,
                                                   std::string_view danger);

/// Makes the directory and its missing parents. Existing directories stay as they are.
[[nodiscard]] Status MakeDirectories(const std::filesystem::path& directory, mode_t mode);

/// Checks that only root and this process's user can replace the directory or what lies in it. Both
/// the path as spelled and the path with symlinks followed are checked. A sticky directory on the
/// way is accepted, and so is a group whose only member is this user. kDenied names the directory
/// and the way out. `danger` is what others could do: "put a socket of their own there".
[[nodiscard]] Status CheckOwnDirectory(const std::filesystem::path& directory,
                                       std::string_view danger);

/// Checks that only root and this process's user can write the file, a group whose only member is
/// this user left aside. Its directories are not checked. Errors as CheckOwnDirectory.
[[nodiscard]] Status CheckOwnFile(const std::filesystem::path& file, std::string_view danger);

}  // namespace cccl_cache::daemon
