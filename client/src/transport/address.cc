// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/transport/address.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace cccl_cache {
namespace {

constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

std::string FromEnvironmentVariable(const char* name) {
  const char* value = secure_getenv(name);
  return value == nullptr ? "" : value;
}

bool IsSocket(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
}

bool IsOwnOrRoot(uid_t owner) { return owner == 0 || owner == geteuid(); }

// Returns whether no other user can replace the entries of a directory above the socket's own. The
// sticky bit is enough.
bool IsSafeParent(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return false;
  const bool sticky = (status.st_mode & S_ISVTX) != 0;
  return IsOwnOrRoot(status.st_uid) && ((status.st_mode & kOthersWrite) == 0 || sticky);
}

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

// Returns why the directory of a default socket can't be trusted. `given_away`: the directory may
// belong to the service's user, because only root can have given it away.
std::optional<std::string> Distrust(const std::string& socket, bool given_away) {
  const std::string directory = ParentOf(socket);
  struct stat status;
  if (lstat(directory.c_str(), &status) != 0)
    return std::nullopt;  // nothing there: connecting says so
  if (!S_ISDIR(status.st_mode)) return directory + " is not a directory";
  if ((status.st_mode & kOthersWrite) != 0) return directory + " can be written by other users";
  std::string parent = ParentOf(directory);
  if (!IsOwnOrRoot(status.st_uid)) {
    struct stat above;
    const bool by_root = stat(parent.c_str(), &above) == 0 && above.st_uid == 0 &&
                         (above.st_mode & kOthersWrite) == 0;
    if (!given_away || !by_root) return directory + " belongs to another user";
  }
  while (true) {
    if (!IsSafeParent(parent)) return parent + " can be written by other users";
    if (parent == "/") return std::nullopt;
    parent = ParentOf(parent);
  }
}

Error Untrusted(const std::string& socket, const std::string& why) {
  return {CCCL_CACHE_NO_DAEMON,
          "the socket " + socket + " is not used, because " + why +
              ": name the socket in CCCL_CACHE_SOCKET if it is the right one"};
}

std::string Cause(const std::string& path, int error) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || S_ISSOCK(status.st_mode)) return std::strerror(error);
  return S_ISDIR(status.st_mode) ? "it is a directory and no socket" : "it is a file and no socket";
}

constexpr const char* kStart =
    "start it (systemctl start cccl-cached; for this user alone systemctl --user start "
    "cccl-cached, or cccl-cached --socket PATH)";

/// Returns where the path comes from, and the remedy. If the program and the environment name the
/// same path, both statements are true.
std::pair<std::string, std::string> OriginOf(const SocketSearch& search, const std::string& path) {
  const std::string start = kStart;
  const std::string other = "start it there (cccl-cached --socket " + path + ")";
  if (path == search.named_path) {
    return {"from CCCL_CACHE_SOCKET", "check that path, or " + other};
  }
  if (path == search.system_path) {
    return {"the default", start + ", or name its socket in CCCL_CACHE_SOCKET"};
  }
  if (path == search.UsersPath()) {
    return {"this user's default", start + ", or name its socket in CCCL_CACHE_SOCKET"};
  }
  return {"from --socket or the program",
          "check that path, or " + other +
              "; without a path, CCCL_CACHE_SOCKET and the usual sockets are tried"};
}

/// Takes a path as gRPC spells it, "unix:/run/a/socket" or "unix:///run/a/socket".
std::string PathOf(const std::string& named) {
  for (const std::string_view scheme : {"unix://", "unix:"}) {
    if (named.starts_with(std::string(scheme) + "/")) return named.substr(scheme.size());
  }
  return named;
}

}  // namespace

SocketSearch SocketSearch::FromEnvironment(std::string explicit_path) {
  SocketSearch search;
  search.explicit_path = PathOf(explicit_path);
  search.named_path = PathOf(FromEnvironmentVariable("CCCL_CACHE_SOCKET"));
  search.runtime_directory = FromEnvironmentVariable("XDG_RUNTIME_DIR");
  return search;
}

std::string SocketSearch::UsersPath() const {
  return runtime_directory.starts_with('/') ? runtime_directory + "/cccl-cached/socket" : "";
}

Expected<std::string> FindSocket(const SocketSearch& search) {
  if (!search.explicit_path.empty()) return search.explicit_path;
  if (!search.named_path.empty()) return search.named_path;
  const std::string users = search.UsersPath();
  if (!users.empty() && IsSocket(users)) {
    const std::optional<std::string> why = Distrust(users, false);
    if (!why) return users;
    // Another user's directory is in the environment after `su`: the system's daemon still serves.
    if (!IsSocket(search.system_path)) return Untrusted(users, *why);
  }
  const std::optional<std::string> why = Distrust(search.system_path, true);
  if (why) return Untrusted(search.system_path, *why);
  return search.system_path;
}

Error DaemonUnreachable(const SocketSearch& search, const std::string& path, int error) {
  const auto [origin, remedy] = OriginOf(search, path);
  return {CCCL_CACHE_NO_DAEMON, "no cccl-cached listens on " + path + " (" + origin +
                                    "): " + Cause(path, error) + "; " + remedy};
}

Error DaemonSilent(const std::string& socket) {
  return {CCCL_CACHE_UNAVAILABLE,
          "cccl-cached at " + socket +
              " does not respond to pings: it is stopped or hangs, or the machine is overloaded; "
              "restart it (systemctl restart cccl-cached for the system's daemon)"};
}

}  // namespace cccl_cache
