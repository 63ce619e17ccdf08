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

#include "daemon/core/model/file_descriptor.h"
#include "daemon/files/absent_names.h"
#include "daemon/files/access_rules.h"
#include "daemon/files/content_stamp.h"
#include "daemon/files/obstacle.h"

namespace cccl_cache::daemon {

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
  struct Detour {
    std::string path;
    int symlinks = 0;
  };

  Reached<Way> DirectoryAt(std::string_view path, int symlinks);
  Reached<Way> Step(const Way& from, std::string_view prefix, const std::string& name,
                    int symlinks);
  Reached<Way> Arrive(FileDescriptor directory, int symlinks);
  Reached<Way> Top();
  static Reached<Detour> Follow(const Way& from, std::string_view prefix, const std::string& name,
                                int symlinks);
  void Remember(std::string_view path, const Way& way);
  [[nodiscard]] bool KnownAbsent(const Way& from, std::string_view name) const;
  /// What hinders the way to a name, and whether that is so for longer.
  Obstacle Hindered(const Way& from, std::string_view name, int error);

  AccessRules& rules_;
  AbsentNames& absent_;
  Absence absence_ = Absence::kAsked;  ///< of the search in progress
  /// By path as it was spelled, without a slash at the end; "" is /.
  std::unordered_map<std::string, Way, PathHash, std::equal_to<>> ways_;
};

}  // namespace cccl_cache::daemon
