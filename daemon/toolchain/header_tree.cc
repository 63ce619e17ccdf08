// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/header_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

namespace cccl_cache::daemon {
namespace {

struct DirectoryCloser {
  void operator()(DIR* directory) const { closedir(directory); }
};
using OpenDirectory = std::unique_ptr<DIR, DirectoryCloser>;

OpenDirectory Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  return OpenDirectory(fd < 0 ? nullptr : fdopendir(fd));
}

/// Where the walk stands: the directory's real path, and its name from the top ("" or "cub/").
struct Place {
  std::string path;
  std::string prefix;
  int depth = 0;
};

class HeaderWalk {
 public:
  HeaderWalk(uid_t own_uid, LookupObserver* observer, const HeaderVisitor& visit)
      : own_uid_(own_uid), observer_(observer), visit_(visit) {}

  Status Walk(const Place& place) {
    if (place.depth > kMaxHeaderDepth) return TooLarge(place.path);
    if (observer_ != nullptr) observer_->OnListing(place.path);
    const OpenDirectory directory = Open(place.path);
    if (directory == nullptr) return Failed(place.path);
    errno = 0;
    while (const dirent* entry = readdir(directory.get())) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == ".." || name == "__pycache__") continue;
      if (Status visited = Visit(place, dirfd(directory.get()), entry->d_name); !visited.ok()) {
        return visited;
      }
      errno = 0;
    }
    return errno == 0 ? Status(Ok{}) : Failed(place.path);
  }

 private:
  static Error Failed(const std::string& path) {
    return {ErrorCode::kUnavailable, fmt::format("{}: {}", path, std::strerror(errno))};
  }

  static Error TooLarge(const std::string& path) {
    return {ErrorCode::kDenied,
            fmt::format("{} has more than {} files or {} levels: is this a directory of headers?",
                        path, kMaxHeaderFiles, kMaxHeaderDepth)};
  }

  Status Visit(const Place& place, int directory, const char* name) {
    if (++entries_ > kMaxHeaderFiles) return TooLarge(place.path);
    TrustedPath entry{place.path + "/" + name, {}};
    if (fstatat(directory, name, &entry.status, AT_SYMLINK_NOFOLLOW) != 0)
      return Failed(entry.path);
    if (S_ISLNK(entry.status.st_mode)) return VisitLink(place, entry.path, name);
    if (!S_ISDIR(entry.status.st_mode) && !S_ISREG(entry.status.st_mode)) return Ok{};
    const PathRole role = S_ISDIR(entry.status.st_mode) ? PathRole::kHolder : PathRole::kFile;
    if (auto reason = WhyNotTrusted(entry.path, entry.status, role, own_uid_)) {
      return Error{ErrorCode::kDenied, *reason};
    }
    return VisitTarget(place, entry, name);
  }

  /// What a link leads to counts under the link's name, wherever it lies. One that leads nowhere is
  /// no header; the observer has seen which names would make it one.
  Status VisitLink(const Place& place, const std::string& link, const char* name) {
    Result<TrustedPath> target = FollowTrusted(link, own_uid_, PathRole::kHolder, observer_);
    if (target.ok()) return VisitTarget(place, *target, name);
    if (target.error().code == ErrorCode::kUnavailable) return Ok{};
    return target.error();
  }

  Status VisitTarget(const Place& place, const TrustedPath& entry, const char* name) {
    if (S_ISDIR(entry.status.st_mode)) {
      return Walk({entry.path, place.prefix + name + "/", place.depth + 1});
    }
    visit_(place.prefix + name, entry.path, entry.status);
    return Ok{};
  }

  const uid_t own_uid_;
  LookupObserver* const observer_;
  const HeaderVisitor& visit_;
  int entries_ = 0;
};

}  // namespace

Status WalkHeaderTree(const TrustedPath& directory, uid_t own_uid, LookupObserver* observer,
                      const HeaderVisitor& visit) {
  return HeaderWalk(own_uid, observer, visit).Walk({directory.path, "", 0});
}

}  // namespace cccl_cache::daemon
