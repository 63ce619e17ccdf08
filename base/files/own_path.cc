// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/files/own_path.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "base/machine.h"

namespace cccl_cache {
namespace {

constexpr size_t kBootDigits = 16;
/// The largest number of symlinks that the kernel follows in one path.
constexpr int kMaxLinks = 40;

bool IsOwnOrRoot(uid_t owner) { return owner == 0 || owner == geteuid(); }

/// Pushes the names of a path on the stack of names to follow. The first name becomes the top.
void Push(std::string_view path, std::vector<std::string>& names) {
  const auto end = static_cast<std::ptrdiff_t>(names.size());
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('/'));
    if (!name.empty() && name != ".") names.emplace_back(name);
    path.remove_prefix(std::min(path.size(), name.size() + 1));
  }
  std::reverse(names.begin() + end, names.end());
}

/// Follows one path from / to a directory, name by name.
class Walk {
 public:
  explicit Walk(const OwnDirectoryRules& rules) : rules_(rules) {}

  FollowedDirectory Follow(std::string_view path) {
    Push(path, names_);
    if (!path.starts_with('/')) return Refused(std::string(path) + " is not an absolute path");
    if (lstat("/", &status_) != 0) return Failed("/");
    while (true) {
      if (std::string why = WhyReplaceable(); !why.empty()) return Refused(std::move(why));
      if (names_.empty()) return {Spelled(), "", true};
      const std::string name = std::move(names_.back());
      names_.pop_back();
      if (name == "..") {
        at_.erase(std::min(at_.size(), at_.rfind('/')));
        by_root_ = false;
        if (lstat(Spelled().c_str(), &status_) != 0) return Failed(Spelled());
        continue;
      }
      const std::string next = at_ + "/" + name;
      struct stat status;
      if (lstat(next.c_str(), &status) != 0) return errno == ENOENT ? Missing(next) : Failed(next);
      if (S_ISLNK(status.st_mode)) {
        if (!IsOwnOrRoot(status.st_uid)) return Refused(next + " is a link of another user");
        if (!FollowLink(next)) return Failed(next);
        continue;
      }
      if (!S_ISDIR(status.st_mode)) return Refused(next + " is not a directory");
      at_ = next;
      by_root_ = status_.st_uid == 0 && (status_.st_mode & (S_IWGRP | S_IWOTH)) == 0;
      status_ = status;
    }
  }

 private:
  [[nodiscard]] std::string Spelled() const { return at_.empty() ? "/" : at_; }
  [[nodiscard]] FollowedDirectory Refused(std::string why) const {
    return {Spelled(), std::move(why), false};
  }
  [[nodiscard]] FollowedDirectory Failed(const std::string& path) const {
    return Refused(path + ": " + std::strerror(errno));
  }
  /// `path` is missing, so nothing below it exists. The remaining names are therefore no symlinks,
  /// and are appended as they are.
  FollowedDirectory Missing(std::string path) {
    for (; !names_.empty(); names_.pop_back()) {
      if (names_.back() == "..") return Refused(path + ": " + std::strerror(ENOENT));
      path += "/" + names_.back();
    }
    if (OthersWrite() && !rules_.makes_missing) {
      return Refused(path + " is missing, and other users could make it");
    }
    return {std::move(path), "", false};
  }

  bool FollowLink(const std::string& link) {
    char target[PATH_MAX];
    const ssize_t length = readlink(link.c_str(), target, sizeof(target));
    if (length <= 0) return false;
    if (++links_ > kMaxLinks) {
      errno = ELOOP;
      return false;
    }
    Push({target, static_cast<size_t>(length)}, names_);
    if (target[0] != '/') return true;
    at_.clear();
    by_root_ = false;
    return lstat("/", &status_) == 0;
  }

  [[nodiscard]] bool OthersWrite() const { return (status_.st_mode & (S_IWGRP | S_IWOTH)) != 0; }

  /// Returns why other users could replace entries of the directory `at_`, or "".
  [[nodiscard]] std::string WhyReplaceable() const {
    const bool last = names_.empty();
    if (!IsOwnOrRoot(status_.st_uid) && !(last && rules_.given_away && by_root_)) {
      return Spelled() + " belongs to another user";
    }
    const bool protects = (status_.st_mode & S_ISVTX) != 0 && !last;
    if (OthersWrite() && !protects) {
      return Spelled() + " can be written by other users";
    }
    return "";
  }

  const OwnDirectoryRules rules_;
  std::vector<std::string> names_;  ///< names to follow; the next one is the last
  std::string at_;                  ///< path of the current directory; empty for /
  struct stat status_ {};           ///< status of the current directory
  bool by_root_ = false;            ///< only root can write the parent of the current directory
  int links_ = 0;
};

}  // namespace

FollowedDirectory OwnDirectory(std::string_view path, const OwnDirectoryRules& rules) {
  return Walk(rules).Follow(path);
}

std::vector<std::string> UsersSockets(std::string_view runtime, std::string_view home) {
  std::vector<std::string> paths;
  if (runtime.starts_with('/')) paths.push_back(std::string(runtime) + "/cccl-cached/socket");
  if (std::string below = SocketBelowHome(home); !below.empty()) paths.push_back(std::move(below));
  return paths;
}

std::string SocketBelowHome(std::string_view home) {
  if (!home.starts_with('/')) return "";
  std::string boot = BootId();
  std::erase(boot, '-');
  if (boot.size() < kBootDigits) return "";
  return std::string(home) + "/.cccl-cached/socket-" + boot.substr(0, kBootDigits);
}

std::string UserDirectory(std::string_view named, std::string_view home, std::string_view below) {
  if (named.starts_with('/')) return std::string(named);
  return home.starts_with('/') ? std::string(home).append(below) : "";
}

std::string CacheDirectory() {
  const auto variable = [](const char* name) {
    const char* value = secure_getenv(name);
    return std::string_view(value == nullptr ? "" : value);
  };
  const std::string base = UserDirectory(variable("XDG_CACHE_HOME"), variable("HOME"), "/.cache");
  return base.empty() ? base : base + "/cccl-cache";
}

void MakeLastDirectories(const std::string& path, size_t count) {
  if (count == 0 || !path.starts_with('/')) return;
  MakeLastDirectories(path.substr(0, path.rfind('/')), count - 1);
  mkdir(path.c_str(), S_IRWXU);
}

}  // namespace cccl_cache
