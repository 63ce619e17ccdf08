// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cccl_cache/expected.h"

namespace cccl_cache {

/// The inputs of the search for the daemon's socket.
struct SocketSearch {
  std::string explicit_path;      ///< used without checks
  std::string named_path;         ///< $CCCL_CACHE_SOCKET, used without checks
  std::string runtime_directory;  ///< $XDG_RUNTIME_DIR
  std::string system_path = "/run/cccl-cached/socket";

  /// The environment of this process; a set-uid program ignores it. Paths may be spelled as gRPC
  /// does: "unix:///run/a/socket".
  static SocketSearch FromEnvironment(std::string explicit_path);
  /// Returns the socket path of the user's own daemon; empty without a runtime directory.
  [[nodiscard]] std::string UsersPath() const;
};

/// Returns the first socket in the order above: the user's if present, else the system's. These two
/// are used only if no user but root, this user and the directory's owner set by root can write
/// their directories. CCCL_CACHE_NO_DAEMON: an existing socket is not trusted; the message says
/// why.
[[nodiscard]] Expected<std::string> FindSocket(const SocketSearch& search);

/// Returns CCCL_CACHE_NO_DAEMON. The message states the cause (`error`, connect's errno, or the
/// kind of file at `path`), the origin of the path, and how to start a daemon.
[[nodiscard]] Error DaemonUnreachable(const SocketSearch& search, const std::string& path,
                                      int error);
/// Returns CCCL_CACHE_UNAVAILABLE: the daemon accepted the connection but does not respond.
[[nodiscard]] Error DaemonSilent(const std::string& socket);

}  // namespace cccl_cache
