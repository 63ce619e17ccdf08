// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/files/path_walk.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "base/files/file_stamp.h"

namespace cccl_cache::daemon {
namespace {

/// Limit of the symlinks in one path; the kernel has the same limit.
constexpr int kMaxSymlinks = 40;
/// Limit of a path in which symlinks were replaced by their targets, in bytes. The kernel has no
/// such limit; here it bounds the time of a walk.
constexpr size_t kMaxDetour = 4 * PATH_MAX;
/// Limit of the directories that one build keeps open, because each needs a descriptor.
constexpr size_t kMaxDirectories = 256;

/// A directory's path and the name of an entry in it. The name is empty if the path ends in "/",
/// "." or "..", because then the path is that of a directory.
struct SplitPath {
  std::string_view directory;
  std::string_view name;
};

SplitPath Split(std::string_view path) {
  const size_t slash = path.rfind('/');
  const std::string_view last = path.substr(slash + 1);
  if (last.empty() || last == "." || last == "..") return {path, {}};
  return {path.substr(0, slash), last};
}

bool IsNumber(std::string_view name) {
  return !name.empty() && name.find_first_not_of("0123456789") == name.npos;
}

/// Returns whether the path is an entry of /dev/fd or /proc/self/fd whose name is not a number.
/// Such an entry is absent in every process. If the name is a number, the daemon would find its own
/// descriptor instead of the requester's.
bool NamesNoDescriptor(std::string_view path) {
  for (const std::string_view directory : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(directory)) continue;
    path.remove_prefix(directory.size());
    const std::string_view name = path.substr(0, path.find('/'));
    return !name.empty() && name != "." && name != ".." && !IsNumber(name);
  }
  return false;
}

}  // namespace

bool AbsentNames::Knows(const ContentStamp& directory, std::string_view name) const {
  const MutexLock lock(mutex_);
  const auto found = names_.find(directory);
  return found != names_.end() && found->second.contains(name);
}

void AbsentNames::Remember(const ContentStamp& directory, std::string_view name) {
  const MutexLock lock(mutex_);
  if (max_names_ == 0) return;
  if (size_ == max_names_) {
    names_.clear();
    size_ = 0;
  }
  if (names_[directory].emplace(name).second) ++size_;
}

size_t AbsentNames::size() const {
  const MutexLock lock(mutex_);
  return size_;
}

Reached<Place> NameWalk::Find(std::string_view path, Absence absence) {
  absence_ = absence;
  if (path.size() >= PATH_MAX || path.find('\0') != path.npos) return PathError{};
  if (NamesNoDescriptor(path)) return PathError{};
  std::string followed;  // the path after the first symlink
  int symlinks = 0;
  for (;;) {
    const SplitPath split = Split(path);
    const Reached<WayPtr> way = DirectoryAt(split.directory, symlinks);
    if (const auto* obstacle = std::get_if<PathError>(&way)) return *obstacle;
    const Way& from = *std::get<WayPtr>(way);
    if (KnownAbsent(from, split.name)) return PathError{};
    if (IsHidden(from, split.name)) return PathError{PathError::Kind::kRefused};
    Place place{.directory = from.directory, .name = std::string(split.name)};
    const int directory = place.directory->get();
    if (const int error = StatusAt(directory, place.name, &place.status); error != 0) {
      return ErrorAt(from, place.name, error);
    }
    if (!S_ISLNK(place.status.stx_mode)) {
      if (from.gives_nothing) return PathError{PathError::Kind::kRefused};
      const Reached<FileSystem> checked = rules_.CheckTarget(directory, place.name, place.status);
      if (const auto* obstacle = std::get_if<PathError>(&checked)) return *obstacle;
      place.file_system = std::get<FileSystem>(checked);
      return place;
    }
    Reached<FollowedLink> detour = Follow(from, split.directory, place.name, symlinks);
    if (const auto* obstacle = std::get_if<PathError>(&detour)) return *obstacle;
    followed = std::move(std::get<FollowedLink>(detour).path);
    path = followed;
    symlinks = std::get<FollowedLink>(detour).symlinks;
  }
}

Reached<NameWalk::WayPtr> NameWalk::DirectoryAt(std::string_view path, int symlinks) {
  size_t done = path.size();
  WayPtr way;
  while (way == nullptr && done > 0) {
    const auto known = done < PATH_MAX ? ways_.find(path.substr(0, done)) : ways_.end();
    const bool counts =
        known != ways_.end() && (known->second != nullptr || absence_ == Absence::kRemembered);
    if (counts) {
      way = known->second;
      if (way == nullptr || symlinks + way->symlinks > kMaxSymlinks) return PathError{};
    } else {
      done = path.rfind('/', done - 1);
    }
  }
  if (way == nullptr) {
    const Reached<WayPtr> top = Top();
    if (std::holds_alternative<PathError>(top)) return top;
    way = std::get<WayPtr>(top);
  }
  while (done < path.size()) {
    const size_t slash = path.find('/', done + 1);
    const size_t end = slash == path.npos ? path.size() : slash;
    const std::string name(path.substr(done + 1, end - done - 1));
    if (!name.empty() && name != ".") {
      Reached<WayPtr> next = Step(*way, path.substr(0, done), name, symlinks);
      if (const auto* obstacle = std::get_if<PathError>(&next)) {
        // After a symlink, the error may mean that there are too many symlinks. The name may exist.
        const bool is_absent = obstacle->kind == PathError::Kind::kAbsent && symlinks == 0;
        if (is_absent) Remember(path.substr(0, end), nullptr);
        return next;
      }
      way = std::get<WayPtr>(std::move(next));
      Remember(path.substr(0, end), way);
    }
    done = end;
  }
  return way;
}

Reached<NameWalk::WayPtr> NameWalk::Step(const Way& from, std::string_view prefix,
                                         const std::string& name, int symlinks) {
  if (KnownAbsent(from, name)) return PathError{};
  if (IsHidden(from, name)) return PathError{PathError::Kind::kRefused};
  // O_DIRECTORY makes an automounter mount the directory.
  FileDescriptor next(
      openat(from.directory->get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (next.valid()) return Arrive(std::move(next), from.symlinks, from.gives_nothing);
  if (errno != ENOTDIR) return ErrorAt(from, name, errno);
  const Reached<FollowedLink> followed = Follow(from, prefix, name, symlinks);
  if (const auto* obstacle = std::get_if<PathError>(&followed)) return *obstacle;
  const FollowedLink& detour = std::get<FollowedLink>(followed);
  const Reached<WayPtr> target = DirectoryAt(detour.path, detour.symlinks);
  if (std::holds_alternative<PathError>(target)) return target;
  auto way = std::make_shared<Way>(*std::get<WayPtr>(target));
  way->symlinks += detour.symlinks - symlinks;
  return way;
}

Reached<NameWalk::WayPtr> NameWalk::Arrive(FileDescriptor directory, int symlinks,
                                           bool gives_nothing) {
  const int64_t now = FileTimeNow();
  struct statx status {};
  if (const int error = StatusAt(directory.get(), "", &status); error != 0) {
    return PathError::Of(error);
  }
  const Reached<Searchable> checked = rules_.CheckSearch(directory.get(), status, now);
  if (const auto* obstacle = std::get_if<PathError>(&checked)) {
    return gives_nothing ? PathError{PathError::Kind::kRefused} : *obstacle;
  }
  const Searchable& searchable = std::get<Searchable>(checked);
  return std::make_shared<const Way>(
      Way{.directory = std::make_shared<const FileDescriptor>(std::move(directory)),
          .symlinks = symlinks,
          .stamp = searchable.stamp,
          .gives_nothing = gives_nothing || searchable.file_system == FileSystem::kKernel});
}

bool NameWalk::KnownAbsent(const Way& from, std::string_view name) const {
  return absence_ == Absence::kRemembered && from.stamp && absent_.Knows(*from.stamp, name);
}

bool NameWalk::IsHidden(const Way& from, std::string_view name) {
  return from.gives_nothing && IsNumber(name);
}

PathError NameWalk::ErrorAt(const Way& from, std::string_view name, int error) {
  if (error == ENOENT && from.stamp && !name.empty()) absent_.Remember(*from.stamp, name);
  const PathError obstacle = PathError::Of(error);
  const bool refused = from.gives_nothing && obstacle.kind != PathError::Kind::kAbsent;
  return refused ? PathError{PathError::Kind::kRefused} : obstacle;
}

Reached<NameWalk::WayPtr> NameWalk::Top() {
  if (const auto known = ways_.find(std::string_view()); known != ways_.end()) return known->second;
  FileDescriptor top(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!top.valid()) return PathError{PathError::Kind::kFailed, errno};
  Reached<WayPtr> way = Arrive(std::move(top), 0, false);
  if (const auto* found = std::get_if<WayPtr>(&way)) Remember("", *found);
  return way;
}

Reached<NameWalk::FollowedLink> NameWalk::Follow(const Way& from, std::string_view prefix,
                                                 const std::string& name, int symlinks) {
  char target[PATH_MAX];
  const ssize_t length = readlinkat(from.directory->get(), name.c_str(), target, sizeof(target));
  // EINVAL: the entry is neither a symlink nor a directory.
  if (length < 0) return errno == EINVAL ? PathError{} : PathError::Of(errno);
  if (length == 0 || symlinks + from.symlinks >= kMaxSymlinks) return PathError{};
  const std::string_view text(target, static_cast<size_t>(length));
  if (text.starts_with('/')) return FollowedLink{std::string(text), symlinks + from.symlinks + 1};
  // The prefix may contain symlinks. They are counted when the new path is walked.
  FollowedLink detour{fmt::format("{}/{}", prefix, text), symlinks + 1};
  if (detour.path.size() > kMaxDetour) return PathError{};
  return detour;
}

void NameWalk::Remember(std::string_view path, WayPtr way) {
  if (path.size() >= PATH_MAX) return;
  if (ways_.size() >= kMaxDirectories) {
    // At the limit, an absent directory is not remembered, because that would drop all open
    // directories.
    if (way == nullptr) return;
    ways_.clear();
  }
  ways_.insert_or_assign(std::string(path), std::move(way));
}

}  // namespace cccl_cache::daemon
