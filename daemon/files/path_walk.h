// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/files/file_descriptor.h"
#include "base/files/file_stamp.h"
#include "base/mutex.h"
#include "daemon/files/access_rules.h"
#include "daemon/files/path_error.h"

namespace cccl_cache::daemon {

/// Names that directories do not have, keyed by the directories' stamps: a new entry changes the
/// stamp of its directory. Half of a closure are names that were not found; with these, one look at
/// each directory suffices for them. Bounded in names: at the limit all are dropped. Thread-safe.
class AbsentNames {
 public:
  explicit AbsentNames(size_t max_names) : max_names_(max_names) {}
  AbsentNames(const AbsentNames&) = delete;
  AbsentNames& operator=(const AbsentNames&) = delete;

  [[nodiscard]] bool Knows(const ContentStamp& directory, std::string_view name) const;
  /// `directory` is the stamp from before the name was looked up, and must have been settled then
  /// (ContentStamp::IsSettledAt).
  void Remember(const ContentStamp& directory, std::string_view name);
  [[nodiscard]] size_t size() const;

 private:
  struct NameHash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };
  using Names = std::unordered_set<std::string, NameHash, std::equal_to<>>;

  const size_t max_names_;
  mutable Mutex mutex_;
  std::unordered_map<ContentStamp, Names, ContentStampHash> names_ GUARDED_BY(mutex_);
  size_t size_ GUARDED_BY(mutex_) = 0;
};

/// The end of a path, with symlinks resolved: an entry of an open directory, or with an empty name
/// the directory itself. By its status it may be given to the requester.
struct Place {
  std::shared_ptr<const FileDescriptor> directory;  // O_PATH
  std::string name;
  struct statx status {};
  FileSystem file_system = FileSystem::kOther;
};

/// Resolves paths as the kernel does, ".." and symlinks included, one name at a time through
/// descriptors, and checks each directory on the way. Each directory is opened once and stays open.
/// With Absence::kRemembered, no name is looked up below a directory that was absent before. For
/// one build. Not thread-safe.
class NameWalk {
 public:
  /// Both must outlive the walk.
  NameWalk(AccessRules& rules, AbsentNames& absent) : rules_(rules), absent_(absent) {}

  /// How the walk decides that a directory does not have a name.
  enum class Absence {
    kAsked,
    kRemembered,  ///< AbsentNames has it under the stamp that the directory had when it was opened
  };
  /// `path` must be absolute.
  Reached<Place> Find(std::string_view path, Absence absence);

 private:
  /// An open directory that may be searched, and the number of symlinks on the way to it.
  struct Way {
    std::shared_ptr<const FileDescriptor> directory;
    int symlinks = 0;
    /// The stamp when it was opened; none if names may change without a change of the stamp.
    std::optional<ContentStamp> stamp = std::nullopt;
    /// It lies in /proc, /sys or /dev, or the path led through one of them: no file below it is
    /// given.
    bool gives_nothing = false;
  };
  using WayPtr = std::shared_ptr<const Way>;
  struct PathHash {
    using is_transparent = void;
    size_t operator()(std::string_view path) const { return std::hash<std::string_view>()(path); }
  };
  /// A path in which a symlink was replaced by its target, and the number of symlinks replaced so
  /// far.
  struct FollowedLink {
    std::string path;
    int symlinks = 0;
  };

  Reached<WayPtr> DirectoryAt(std::string_view path, int symlinks);
  Reached<WayPtr> Step(const Way& from, std::string_view prefix, const std::string& name,
                       int symlinks);
  Reached<WayPtr> Arrive(FileDescriptor directory, int symlinks, bool gives_nothing);
  Reached<WayPtr> Top();
  static Reached<FollowedLink> Follow(const Way& from, std::string_view prefix,
                                      const std::string& name, int symlinks);
  void Remember(std::string_view path, WayPtr way);
  [[nodiscard]] bool KnownAbsent(const Way& from, std::string_view name) const;
  /// Returns whether an existing name must look absent, because it may be another user's process.
  [[nodiscard]] static bool IsHidden(const Way& from, std::string_view name);
  /// Returns the path error of a name, and remembers the name as absent if the directory's stamp
  /// allows it. Below a `gives_nothing` directory every other error is a refusal.
  PathError ErrorAt(const Way& from, std::string_view name, int error);

  AccessRules& rules_;
  AbsentNames& absent_;
  Absence absence_ = Absence::kAsked;  ///< of the Find() that runs now
  /// Keyed by the path as spelled, without a slash at the end; "" is /. Null: there was no
  /// directory.
  std::unordered_map<std::string, WayPtr, PathHash, std::equal_to<>> ways_;
};

}  // namespace cccl_cache::daemon
