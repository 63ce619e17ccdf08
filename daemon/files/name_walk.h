// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "daemon/core/file_descriptor.h"
#include "daemon/files/access_rules.h"
#include "daemon/files/obstacle.h"

namespace cccl_cached {

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
  explicit NameWalk(AccessRules& rules) : rules_(rules) {}

  /// `path`: absolute.
  Reached<Place> Find(std::string path);

 private:
  /// An open directory that may be searched, and how many symlinks led there.
  struct Way {
    std::shared_ptr<const FileDescriptor> directory;
    int symlinks = 0;
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

  AccessRules& rules_;
  /// By path as it was spelled, without a slash at the end; "" is /.
  std::unordered_map<std::string, Way, PathHash, std::equal_to<>> ways_;
};

}  // namespace cccl_cached
