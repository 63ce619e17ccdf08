// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cccl_cache/expected.h"

namespace cccl_cache {

/// The inputs of the search for the daemon's socket.
struct SocketSearch {
  std::string explicit_path;      ///< used without checks
  std::string named_path;         ///< $CCCL_CACHE_SOCKET, used without checks
  std::string runtime_directory;  ///< $XDG_RUNTIME_DIR
  std::string system_path = "/run/cccl-cached/socket";
  std::string home;  ///< $HOME

  /// Reads the environment of this process, except in a set-uid program. Paths may have gRPC's
  /// form: "unix:///run/a/socket".
  static SocketSearch FromEnvironment(std::string explicit_path);
  /// Returns the paths at which the user's own daemon may listen: in the runtime directory, and in
  /// the home directory.
  [[nodiscard]] std::vector<std::string> UsersPaths() const;
};

/// Returns the first socket in the order above: the user's if it exists, else the system's. A
/// socket is trusted only if no user can write its directory except root, this user, and an owner
/// to whom root gave the directory. The returned path has no links. CCCL_CACHE_NO_DAEMON: an
/// existing socket is not trusted; the message has the reason.
[[nodiscard]] Expected<std::string> FindSocket(const SocketSearch& search);

/// Returns CCCL_CACHE_NO_DAEMON. The message states the cause (`error`, connect's errno, or the
/// kind of file at `path`), the origin of the path, and how to start a daemon.
[[nodiscard]] Error DaemonUnreachable(const SocketSearch& search, const std::string& path,
                                      int error);
/// Returns CCCL_CACHE_UNAVAILABLE: the daemon accepted the connection but does not respond.
[[nodiscard]] Error DaemonSilent(const std::string& socket);

}  // namespace cccl_cache
