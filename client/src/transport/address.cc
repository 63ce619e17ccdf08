// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/transport/address.h"

#include <limits.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/files/own_path.h"
#include "base/start_advice.h"
#include "base/unix_socket.h"

namespace cccl_cache {
namespace {

std::string FromEnvironmentVariable(const char* name) {
  const char* value = secure_getenv(name);
  return value == nullptr ? "" : value;
}

bool IsSocket(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
}

/// A socket in one of the default directories.
struct Place {
  std::string socket;
  std::string refusal;  ///< why the directory can't be trusted; empty: it is trusted
};

/// Follows the links in the path of a default socket, and the link that the socket itself may be.
/// `given_away`: the directory may also belong to the user of the system's daemon, to whom only
/// root can have given it.
Place Follow(const std::string& spelled, bool given_away) {
  constexpr int kMaxLinks = 8;
  std::string socket = spelled;
  for (int links = 0;; ++links) {
    const size_t slash = socket.rfind('/');
    FollowedDirectory directory =
        OwnDirectory(slash == 0 ? "/" : socket.substr(0, slash), {.given_away = given_away});
    if (!directory.refusal.empty()) return {spelled, std::move(directory.refusal)};
    const std::string followed = std::move(directory.path) + socket.substr(slash);
    struct stat status;
    if (lstat(followed.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) {
      // If the path without links is too long for an address, the path with links is used. Other
      // users can't change these links.
      return {followed.size() < sizeof(sockaddr_un::sun_path) ? followed : spelled, ""};
    }
    char target[PATH_MAX];
    const ssize_t length = readlink(followed.c_str(), target, sizeof(target));
    const bool own = status.st_uid == 0 || status.st_uid == geteuid();
    if (length <= 0 || !own || links == kMaxLinks) {
      return {spelled, followed + " is a link of another user, or leads nowhere"};
    }
    const std::string_view name(target, static_cast<size_t>(length));
    socket = name.starts_with('/') ? std::string(name)
                                   : followed.substr(0, followed.rfind('/') + 1).append(name);
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

/// Returns, for a message, where the path comes from and what the user can do. If the path was
/// given both by the program and by the environment, the origin is the environment.
std::pair<std::string, std::string> OriginOf(const SocketSearch& search, const std::string& path) {
  const std::string named = ", or name the socket of another in CCCL_CACHE_SOCKET";
  const std::string other = "start it there (cccl-cached --socket " + path + ")";
  if (path == search.named_path) {
    return {"from CCCL_CACHE_SOCKET", "check that path, or " + other};
  }
  if (path == search.system_path) {
    return {"the default", StartAdvice() + named};
  }
  const std::vector<std::string> users = search.UsersPaths();
  const bool of_user = std::any_of(users.begin(), users.end(), [&path](const std::string& each) {
    return path == each || path == Follow(each, false).socket;
  });
  if (of_user) {
    return {"this user's default", kStartOwn + named};
  }
  return {"from --socket or the program",
          "check that path, or " + other +
              "; without a path, CCCL_CACHE_SOCKET and the usual sockets are tried"};
}

/// Returns the path of a socket that may be written as in gRPC: "unix:/run/a/socket" or
/// "unix:///run/a/socket".
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
  search.home = FromEnvironmentVariable("HOME");
  return search;
}

Expected<std::string> FindSocket(const SocketSearch& search) {
  if (!search.explicit_path.empty()) return search.explicit_path;
  if (!search.named_path.empty()) return search.named_path;
  std::vector<std::string> found;
  Place refused;
  const auto consider = [&](const std::string& path, bool given_away) {
    Place place = Follow(path, given_away);
    if (place.refusal.empty()) {
      found.push_back(std::move(place.socket));
    } else {
      refused = std::move(place);
    }
  };
  for (const std::string& path : search.UsersPaths()) {
    if (IsSocket(path)) consider(path, false);
  }
  // After `su` the environment may have the directory of another user. In that case the system's
  // daemon is used, if there is one.
  const bool nothing = found.empty() && refused.refusal.empty();
  if (nothing || IsSocket(search.system_path)) consider(search.system_path, true);
  if (found.empty()) return Untrusted(refused.socket, refused.refusal);
  if (found.size() == 1) return std::move(found.front());
  const auto served = std::find_if(found.begin(), found.end(), IsServed);
  return served == found.end() ? std::move(found.front()) : std::move(*served);
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
