// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace cccl_cache {

/// A directory as OwnDirectory() found it.
struct FollowedDirectory {
  std::string path;     ///< without links; a missing end is as it was spelled
  std::string refusal;  ///< why other users could replace a part of the path; empty: they can't
  bool exists = false;
};

struct OwnDirectoryRules {
  /// The caller makes missing directories and then follows the path again: in a sticky directory
  /// another user may have made one first.
  bool makes_missing = false;
  /// The directory itself may belong to another user if only root can have given it away.
  bool given_away = false;
};

/// Follows an absolute path to a directory once, link by link. Each directory on the way and each
/// link must belong to root or this user, and only these may write the directories, but for sticky
/// ones above the last. A missing directory below a sticky one is refused: others could make it.
/// Every group counts as others, because a client can't ask for its members in every process. So no
/// other user can change the target of the returned path: use that one.
[[nodiscard]] FollowedDirectory OwnDirectory(std::string_view path,
                                             const OwnDirectoryRules& rules = {});

/// Returns the socket of a user's daemon on this node for an environment without a runtime
/// directory: HOME/.cccl-cached/socket-BOOT. BOOT are 16 digits of the kernel's boot id, so that
/// daemons of nodes that share a home do not meet. Empty: `home` is no absolute path, or the boot
/// id is unknown.
[[nodiscard]] std::string SocketBelowHome(std::string_view home);

/// Returns the user's cache directory: XDG_CACHE_HOME/cccl-cache or HOME/.cache/cccl-cache. Empty:
/// neither is an absolute path.
[[nodiscard]] std::string CacheDirectory();

/// Makes those of the last `count` directories of an absolute path that are missing, each for this
/// user alone, whatever the umask. Nothing above them is made.
void MakeLastDirectories(const std::string& path, size_t count);

}  // namespace cccl_cache
