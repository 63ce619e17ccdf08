// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace cccl_cache {

/// The result of OwnDirectory().
struct FollowedDirectory {
  std::string path;     ///< without links; a missing end is unchanged
  std::string refusal;  ///< why other users could replace a part of the path; empty if they can't
  bool exists = false;
};

struct OwnDirectoryRules {
  /// The caller makes missing directories and then follows the path again, because in a sticky
  /// directory another user may have made one first.
  bool makes_missing = false;
  /// The last directory may belong to another user if only root can have given it away.
  bool given_away = false;
};

/// Follows an absolute path to a directory once, link by link. Each directory and each link on the
/// way must belong to root or this user. Only these may write the directories, except sticky
/// directories above the last one. A missing directory in a sticky one is refused, because others
/// could make it. Every group counts as other users, because a client can't read a group's members
/// in every process. The caller must use the returned path: no other user can change its target.
[[nodiscard]] FollowedDirectory OwnDirectory(std::string_view path,
                                             const OwnDirectoryRules& rules = {});

/// Returns the socket of a user's daemon on this node without a runtime directory:
/// HOME/.cccl-cached/socket-BOOT. BOOT has 16 digits of the kernel's boot id, so that nodes with a
/// shared home use different sockets. Empty if `home` is no absolute path, or the boot id is
/// unknown.
[[nodiscard]] std::string SocketBelowHome(std::string_view home);

/// Returns the user's cache directory: XDG_CACHE_HOME/cccl-cache or HOME/.cache/cccl-cache. Empty
/// if neither is an absolute path.
[[nodiscard]] std::string CacheDirectory();

/// Makes the missing ones of the last `count` directories of an absolute path. Only this user may
/// access them, for any umask. Directories above them are not made.
void MakeLastDirectories(const std::string& path, size_t count);

}  // namespace cccl_cache
