// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/file_descriptor.h"
#include "daemon/files/access_rules.h"
#include "daemon/files/file_stamp.h"
#include "daemon/files/path_error.h"

namespace cccl_cache::daemon {

/// Names that directories do not have, under the directories' stamps: whatever is made in a
/// directory changes that. A closure is half names that were looked for in vain; of those, one look
/// at each directory is enough. Bounded in names: when there are too many, all are forgotten, and
/// those in use come back. Thread-safe.
class AbsentNames {
 public:
  explicit AbsentNames(size_t max_names) : max_names_(max_names) {}
  AbsentNames(const AbsentNames&) = delete;
  AbsentNames& operator=(const AbsentNames&) = delete;

  [[nodiscard]] bool Knows(const ContentStamp& directory, std::string_view name) const;
  /// `directory`: settled (ContentStamp::IsSettledAt) when it was taken, and before the name was
  /// looked for.
  void Remember(const ContentStamp& directory, std::string_view name);
  [[nodiscard]] size_t size() const;

 private:
  struct NameHash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };
  using Names = std::unordered_set<std::string, NameHash, std::equal_to<>>;

  const size_t max_names_;
  mutable std::mutex mutex_;
  std::unordered_map<ContentStamp, Names, ContentStampHash> names_;  // guarded by mutex_
  size_t size_ = 0;                                                  // guarded by mutex_
};

/// Where a path leads, symlinks followed: to an entry of an open directory, or with an empty name
/// to that directory itself. It may be given, as far as `status` tells.
struct Place {
  std::shared_ptr<const FileDescriptor> directory;  // O_PATH
  std::string name;
  struct statx status {};
  FileSystem file_system = FileSystem::kOther;
};

/// Follows paths as the kernel does, ".." and symlinks included, one name at a time through
/// descriptors, and checks each directory that it comes through. Directories stay open: a path's
/// directory is opened once, and is the same one for as long as this lives. For one build. Not
/// thread-safe.
class NameWalk {
 public:
  /// Both must outlive the walk.
  NameWalk(AccessRules& rules, AbsentNames& absent) : rules_(rules), absent_(absent) {}

  /// How it is found out that a directory does not have a name.
  enum class Absence {
    kAsked,
    kRemembered,  ///< as it was when the walk came to the directory first
  };
  /// `path`: absolute.
  Reached<Place> Find(std::string path, Absence absence);

 private:
  /// An open directory that may be searched, and how many symlinks led there.
  struct Way {
    std::shared_ptr<const FileDescriptor> directory;
    int symlinks = 0;
    /// When it was opened; none if it could change without that.
    std::optional<ContentStamp> stamp = std::nullopt;
  };
  struct PathHash {
    using is_transparent = void;
    size_t operator()(std::string_view path) const { return std::hash<std::string_view>()(path); }
  };
  /// A path in which a symlink was replaced by its target, and the symlinks that are not in the
  /// path any more.
  struct FollowedLink {
    std::string path;
    int symlinks = 0;
  };

  Reached<Way> DirectoryAt(std::string_view path, int symlinks);
  Reached<Way> Step(const Way& from, std::string_view prefix, const std::string& name,
                    int symlinks);
  Reached<Way> Arrive(FileDescriptor directory, int symlinks);
  Reached<Way> Top();
  static Reached<FollowedLink> Follow(const Way& from, std::string_view prefix,
                                      const std::string& name, int symlinks);
  void Remember(std::string_view path, const Way& way);
  [[nodiscard]] bool KnownAbsent(const Way& from, std::string_view name) const;
  /// What hinders the way to a name, and whether that is so for longer.
  PathError ErrorAt(const Way& from, std::string_view name, int error);

  AccessRules& rules_;
  AbsentNames& absent_;
  Absence absence_ = Absence::kAsked;  ///< of the search in progress
  /// By path as it was spelled, without a slash at the end; "" is /.
  std::unordered_map<std::string, Way, PathHash, std::equal_to<>> ways_;
};

}  // namespace cccl_cache::daemon
