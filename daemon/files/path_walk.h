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

/// The names that were not found in a directory, by the directory's stamp. A new entry changes the
/// stamp of its directory, so the names stay absent while the stamp is the same. Half of the names
/// in a closure are absent; with this cache, a directory is queried once instead of once for each
/// name. At `max_names` all names are dropped. Thread-safe.
class AbsentNames {
 public:
  explicit AbsentNames(size_t max_names) : max_names_(max_names) {}
  AbsentNames(const AbsentNames&) = delete;
  AbsentNames& operator=(const AbsentNames&) = delete;

  [[nodiscard]] bool Knows(const ContentStamp& directory, std::string_view name) const;
  /// `directory` is the stamp from before the name was looked up. At that time it must have been
  /// settled (ContentStamp::IsSettledAt).
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

/// The file or directory to which a path leads, with symlinks resolved. It is the entry `name` of
/// an open directory, or that directory itself if `name` is empty. According to `status`, it may be
/// given to the requester.
struct Place {
  std::shared_ptr<const FileDescriptor> directory;  // O_PATH
  std::string name;
  struct statx status {};
  FileSystem file_system = FileSystem::kOther;
};

/// Resolves paths as the kernel does, with ".." and symlinks, and checks each directory on the way.
/// Opens one directory after the other, each by its name in the one before. Each directory is
/// opened once and stays open. With Absence::kRemembered, no name is looked up below a directory
/// that was absent before. Each build needs its own object. Not thread-safe.
class NameWalk {
 public:
  /// `rules` and `absent` must outlive the object.
  NameWalk(AccessRules& rules, AbsentNames& absent) : rules_(rules), absent_(absent) {}

  /// How the walk decides that a directory does not have a name.
  enum class Absence {
    kAsked,
    kRemembered,  ///< AbsentNames has it under the stamp that the directory had when it was opened
  };
  /// `path` must be absolute.
  Reached<Place> Find(std::string_view path, Absence absence);

 private:
  /// An open directory in which names may be looked up, and the number of symlinks on the path to
  /// it.
  struct Way {
    std::shared_ptr<const FileDescriptor> directory;
    int symlinks = 0;
    /// The directory's stamp when it was opened. None if names may change without a change of the
    /// stamp.
    std::optional<ContentStamp> stamp = std::nullopt;
    /// Whether the directory is in /proc, /sys or /dev, or the path led through one of them. No
    /// file below such a directory is given.
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
  /// Returns whether a name must not be looked up, because it may be another user's process. An
  /// answer would show whether that process exists.
  [[nodiscard]] static bool IsHidden(const Way& from, std::string_view name);
  /// Returns the path error of a name. Remembers an absent name if the directory has a stamp. If
  /// `from.gives_nothing`, every error other than kAbsent becomes kRefused.
  PathError ErrorAt(const Way& from, std::string_view name, int error);

  AccessRules& rules_;
  AbsentNames& absent_;
  Absence absence_ = Absence::kAsked;  ///< the argument of the current Find()
  /// Keyed by the path as spelled, without a slash at the end; "" is /. A null value means that the
  /// directory is absent.
  std::unordered_map<std::string, WayPtr, PathHash, std::equal_to<>> ways_;
};

}  // namespace cccl_cache::daemon
