// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// Makes the directory and its missing parents. kDenied: other users could replace the directory or
/// its contents (base/files/own_path.h). Returns the path with symlinks resolved, so that no other
/// user can make it lead elsewhere. `danger` names the harm that other users could do, for the text
/// of the error, such as "put a socket of their own there".
[[nodiscard]] Result<std::string> MakeOwnDirectory(const std::string& directory, mode_t mode,
                                                   std::string_view danger);

/// Makes the directory and its missing parents. The mode of existing directories does not change.
[[nodiscard]] Status MakeDirectories(const std::filesystem::path& directory, mode_t mode);

/// Checks that only root and this process's user can replace the directory or its contents. Checks
/// the path as it is given, and again with symlinks resolved. A parent directory with the sticky
/// bit is accepted, and so is write permission for a group whose only member is this user. kDenied
/// names the directory and the remedy. `danger` names the harm that other users could do, for the
/// text of the error, such as "put a socket of their own there".
[[nodiscard]] Status CheckOwnDirectory(const std::filesystem::path& directory,
                                       std::string_view danger);

/// Checks that only root and this process's user can write the file. Write permission for a group
/// whose only member is this user is accepted. The directories on the path are not checked.
/// `danger` and the errors are as in CheckOwnDirectory.
[[nodiscard]] Status CheckOwnFile(const std::filesystem::path& file, std::string_view danger);

}  // namespace cccl_cache::daemon
