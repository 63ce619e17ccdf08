// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cccl_cache/expected.h"

namespace cccl_cache {

/// Where to look for the daemon's socket. The members are what the search depends on.
struct SocketSearch {
  std::string explicit_path;      ///< taken at its word
  std::string named_path;         ///< $CCCL_CACHE_SOCKET, likewise
  std::string runtime_directory;  ///< $XDG_RUNTIME_DIR
  std::string system_path = "/run/cccl-cached/socket";

  /// The environment of this process; a set-uid program ignores it.
  static SocketSearch FromEnvironment(std::string explicit_path);
  /// Where a daemon of this user's own listens; empty without a runtime directory.
  [[nodiscard]] std::string UsersPath() const;
};

/// The first socket of the order above: the user's if present, else the system's, and each of those
/// two only if nobody but root, this user and, for the directory itself, whom root gave it to can
/// write what it lies in. CCCL_CACHE_NO_DAEMON says why a socket that is there is not used.
[[nodiscard]] Expected<std::string> FindSocket(const SocketSearch& search);

/// CCCL_CACHE_NO_DAEMON, for a person: `error`, connect's errno, or what lies at `path` in place of
/// a socket; who named the path; how a daemon is started.
[[nodiscard]] Error DaemonUnreachable(const SocketSearch& search, const std::string& path,
                                      int error);
/// CCCL_CACHE_UNAVAILABLE: the daemon took the connection, and says nothing on it.
[[nodiscard]] Error DaemonSilent(const std::string& socket);

}  // namespace cccl_cache
