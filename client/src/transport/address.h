// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/files/own_path.h"
#include "cccl_cache/expected.h"

namespace cccl_cache {

/// The paths, in order of precedence, among which the daemon's socket is searched.
struct SocketSearch {
  std::string explicit_path;      ///< path from the program, used without checks
  std::string named_path;         ///< $CCCL_CACHE_SOCKET, used without checks
  std::string runtime_directory;  ///< $XDG_RUNTIME_DIR
  std::string system_path = kSystemSocket;
  std::string home;  ///< $HOME

  /// Returns a search with the environment variables of this process. A set-uid program ignores
  /// them. Paths may have the form of gRPC: "unix:///run/a/socket".
  static SocketSearch FromEnvironment(std::string explicit_path);
  /// Returns the paths of the sockets on which a daemon of this user may listen.
  [[nodiscard]] std::vector<std::string> UsersPaths() const {
    return UsersSockets(runtime_directory, home);
  }
};

/// Returns the path of the socket to use: the explicit path, else the named path, else a socket of
/// this user's daemon if there is one, else that of the system's daemon. If there are several, one
/// on which a daemon listens precedes one that a killed daemon has left. A socket of the last two
/// kinds is used only if other users can't change its directory; root may, and so may, for the
/// system's daemon, a user to whom root gave the directory. The returned path has no links.
/// CCCL_CACHE_NO_DAEMON: the socket is not trusted; the message says why.
[[nodiscard]] Expected<std::string> FindSocket(const SocketSearch& search);

/// Returns the error CCCL_CACHE_NO_DAEMON. The message has the cause (`error`, the errno of
/// connect, or that the file at `path` is no socket), where the path comes from, and how to start a
/// daemon.
[[nodiscard]] Error DaemonUnreachable(const SocketSearch& search, const std::string& path,
                                      int error);
/// Returns the error CCCL_CACHE_UNAVAILABLE for a daemon that accepted the connection but does not
/// respond.
[[nodiscard]] Error DaemonSilent(const std::string& socket);

}  // namespace cccl_cache
