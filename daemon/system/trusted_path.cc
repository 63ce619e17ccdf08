// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/system/trusted_path.h"

#include <fmt/format.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace cccl_cache::daemon {
namespace {

/// The kernel's limit of symlinks in one path.
constexpr int kMaxSymlinks = 40;

/// Returns the names of a path in reverse order, so that the next name is at the back.
std::vector<std::string> ReversedNames(std::string_view path) {
  std::vector<std::string> names;
  while (!path.empty()) {
    const size_t slash = path.find('/');
    const std::string_view name = path.substr(0, slash);
    if (!name.empty() && name != ".") names.emplace_back(name);
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  std::reverse(names.begin(), names.end());
  return names;
}

/// Resolves a path name by name, from / on, and checks each directory on the way.
class PathWalk {
 public:
  PathWalk(uid_t own_uid, LookupObserver* observer) : own_uid_(own_uid), observer_(observer) {}

  Result<TrustedPath> Follow(const std::string& path, PathRole holder) {
    pending_ = ReversedNames(path);
    if (lstat("/", &status_) != 0) return Missing("/");
    while (!pending_.empty()) {
      if (Status entered = CheckDirectory(); !entered.ok()) return entered.error();
      if (Status stepped = Step(); !stepped.ok()) return stepped.error();
    }
    if (holder == PathRole::kHolder && holder_is_sticky_)
      return Denied(holder_path_, holder_status_);
    return CheckTarget();
  }

 private:
  [[nodiscard]] std::string Printable() const { return current_.empty() ? "/" : current_; }

  static Error Missing(const std::string& path) {
    return {ErrorCode::kUnavailable, fmt::format("{}: {}", path, std::strerror(errno))};
  }

  [[nodiscard]] Error Denied(const std::string& path, const struct stat& status) const {
    return {ErrorCode::kDenied,
            WhyNotTrusted(path, status, PathRole::kHolder, own_uid_).value_or(path)};
  }

  Status CheckDirectory() {
    if (!S_ISDIR(status_.st_mode)) {
      errno = ENOTDIR;
      return Missing(Printable());
    }
    if (auto reason = WhyNotTrusted(Printable(), status_, PathRole::kPassedThrough, own_uid_)) {
      return Error{ErrorCode::kDenied, *reason};
    }
    return Ok{};
  }

  /// Looks up the next name in the current directory. Follows it if it is a symlink.
  Status Step() {
    const std::string name = std::move(pending_.back());
    pending_.pop_back();
    if (name == "..") return Leave();
    holder_path_ = Printable();
    holder_status_ = status_;
    holder_is_sticky_ = (status_.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    if (observer_ != nullptr) observer_->OnLookup(holder_path_, name);
    const std::string next = current_ + "/" + name;
    struct stat status {};
    if (lstat(next.c_str(), &status) != 0) return Missing(next);
    if (S_ISLNK(status.st_mode)) return FollowLink(next, status);
    current_ = next;
    status_ = status;
    return Ok{};
  }

  Status Leave() {
    current_.erase(std::min(current_.size(), current_.rfind('/')));
    if (lstat(Printable().c_str(), &status_) != 0) return Missing(Printable());
    return Ok{};
  }

  Status FollowLink(const std::string& link, const struct stat& link_status) {
    const bool ours = link_status.st_uid == 0 || link_status.st_uid == own_uid_;
    if (holder_is_sticky_ && !ours) {
      return Error{ErrorCode::kDenied,
                   fmt::format("{} is a symbolic link of uid {}, who can make it lead elsewhere",
                               link, link_status.st_uid)};
    }
    char target[PATH_MAX];
    const ssize_t length = readlink(link.c_str(), target, sizeof(target));
    if (length < 0) return Missing(link);
    if (++symlinks_ > kMaxSymlinks) {
      errno = ELOOP;
      return Missing(link);
    }
    std::vector<std::string> names =
        ReversedNames(std::string_view(target, static_cast<size_t>(length)));
    pending_.insert(pending_.end(), names.begin(), names.end());
    if (target[0] != '/') return Ok{};
    current_.clear();
    if (lstat("/", &status_) != 0) return Missing("/");
    return Ok{};
  }

  Result<TrustedPath> CheckTarget() {
    const bool directory = S_ISDIR(status_.st_mode);
    if (!directory && !S_ISREG(status_.st_mode)) {
      return Error{ErrorCode::kDenied, fmt::format("{} is no regular file", Printable())};
    }
    const PathRole role = directory ? PathRole::kHolder : PathRole::kFile;
    if (auto reason = WhyNotTrusted(Printable(), status_, role, own_uid_)) {
      return Error{ErrorCode::kDenied, *reason};
    }
    return TrustedPath{Printable(), status_};
  }

  const uid_t own_uid_;
  LookupObserver* const observer_;
  std::vector<std::string> pending_;
  std::string current_;    ///< where the walk is, without symlinks; empty for /
  struct stat status_ {};  ///< of current_
  std::string holder_path_;
  struct stat holder_status_ {};
  bool holder_is_sticky_ = false;
  int symlinks_ = 0;
};

}  // namespace

std::optional<std::string> WhyNotTrusted(const std::string& path, const struct stat& status,
                                         PathRole role, uid_t own_uid) {
  if (status.st_uid != 0 && status.st_uid != own_uid) {
    return fmt::format(
        "{} belongs to uid {}, who can change it; only files that no one but root and the daemon's "
        "uid {} can write are used: install it as root (chown -R root), or run a daemon as that "
        "user",
        path, status.st_uid, own_uid);
  }
  const bool sticky = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) == 0) return std::nullopt;
  if (sticky && role == PathRole::kPassedThrough) return std::nullopt;
  return fmt::format(
      "{} can be written by others (owner uid {}, group {}, mode {:04o}); only files that no one "
      "but "
      "root and the daemon's uid {} can write are used: chmod -R go-w, or install it elsewhere",
      path, status.st_uid, status.st_gid, status.st_mode & 07777, own_uid);
}

Result<TrustedPath> FollowTrusted(const std::string& path, uid_t own_uid, PathRole holder,
                                  LookupObserver* observer) {
  return PathWalk(own_uid, observer).Follow(path, holder);
}

}  // namespace cccl_cache::daemon
