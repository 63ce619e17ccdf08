// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cccl_cache {

/// The result of OwnDirectory().
struct FollowedDirectory {
  std::string path;     ///< the path without symlinks; a part that does not exist is unchanged
  std::string refusal;  ///< why other users could replace a part of the path; empty if they can't
  bool exists = false;
};

struct OwnDirectoryRules {
  /// The caller creates missing directories, even in a directory that other users can write. It
  /// must call OwnDirectory() again afterwards: in a sticky directory, another user may have
  /// created a missing directory first.
  bool makes_missing = false;
  /// The last directory may belong to another user if only root can write its parent, so that only
  /// root can have given it to that user.
  bool given_away = false;
};

/// Follows an absolute path to a directory, symlink by symlink, and checks that other users can't
/// replace a part of it. Each directory and each symlink on the way must belong to root or this
/// user. No other user may be able to write these directories, except sticky directories above the
/// last one. A missing directory in a sticky one is refused, because other users could create it. A
/// directory that its group can write is refused too, because a client can't find out a group's
/// members in every process. The caller must use the returned path, whose target no other user can
/// change.
[[nodiscard]] FollowedDirectory OwnDirectory(std::string_view path,
                                             const OwnDirectoryRules& rules = {});

/// The path of the socket of a machine's daemon.
inline constexpr const char* kSystemSocket = "/run/cccl-cached/socket";

/// Returns the paths of the sockets on which a daemon of this user may listen:
/// RUNTIME/cccl-cached/socket and SocketBelowHome(). A daemon takes the first one, clients try
/// each. `runtime` is the value of XDG_RUNTIME_DIR. Leaves out a path whose directory is not known.
[[nodiscard]] std::vector<std::string> UsersSockets(std::string_view runtime,
                                                    std::string_view home);

/// Returns the path of the socket for a user's daemon on a machine without a runtime directory:
/// HOME/.cccl-cached/socket-BOOT. BOOT is the first 16 digits of the kernel's boot id, so that
/// machines with a shared home directory use different sockets. Returns "" if `home` is not an
/// absolute path, or if the boot id is unknown.
[[nodiscard]] std::string SocketBelowHome(std::string_view home);

/// Returns a directory of the XDG base directory specification: `named`, the value of its variable,
/// or `below` ("/.config") in `home`. Both count only if they are absolute paths. Returns "" if
/// neither is.
[[nodiscard]] std::string UserDirectory(std::string_view named, std::string_view home,
                                        std::string_view below);

/// Returns XDG_CACHE_HOME/cccl-cache or, if that variable is no absolute path,
/// HOME/.cache/cccl-cache. Returns "" if neither variable is an absolute path, or if the program
/// runs setuid.
[[nodiscard]] std::string CacheDirectory();

/// Creates the last `count` directories of an absolute path, as far as they are missing, with
/// access for this user only. Directories above them are not created. Errors are ignored.
void MakeLastDirectories(const std::string& path, size_t count);

}  // namespace cccl_cache
