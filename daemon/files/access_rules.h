// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/files/file_descriptor.h"
#include "base/files/file_stamp.h"
#include "base/lru.h"
#include "base/mutex.h"
#include "daemon/core/model/account.h"
#include "daemon/files/file_systems.h"
#include "daemon/files/path_error.h"

namespace cccl_cache::daemon {

/// Decides by modes and owners which files the daemon may open for a requester. For the daemon's
/// own user: every file that the daemon can read. For other users: files that do not belong to
/// `keeper`, if the mode of the file and of each directory allows the access to the owner, the
/// group and all others alike. A mode that denies it to the owner or the group may be meant to keep
/// the requester out. Immutable.
class Reach {
 public:
  /// `keeper`: the user whose files are given to no other user; 0: there is no such user.
  Reach(FileReach reach, uid_t keeper) : keeper_(keeper), stranger_(reach != FileReach::kDaemons) {}

  [[nodiscard]] bool IsStrangers() const { return stranger_; }
  [[nodiscard]] bool MaySearch(const struct statx& directory) const;
  [[nodiscard]] bool MayRead(const struct statx& file) const;

 private:
  [[nodiscard]] bool Allows(const struct statx& status, mode_t everybody) const;

  uid_t keeper_;
  bool stranger_;
};

inline constexpr uint64_t kMaxFileBytes = uint64_t{64} << 20;

/// A cache of directories in which paths of a stranger (a requester who is not the daemon's own
/// user) may be resolved. These directories have no access list and are not refused places. Modes
/// and owners are not cached; they are checked each time. The key is the directory's stamp, which
/// changes with its access list. Beyond `max_directories`, the least recently used is dropped.
/// Thread-safe.
class CheckedDirectories {
 public:
  explicit CheckedDirectories(size_t max_directories)
      : entries_({.max_entries = max_directories}) {}

  [[nodiscard]] bool Know(const ContentStamp& directory);
  void Remember(const ContentStamp& directory);

 private:
  Mutex mutex_;
  PerUserLru<ContentStamp, std::monostate, ContentStampHash> entries_ GUARDED_BY(mutex_);
};

/// A directory in which names may be looked up.
struct Searchable {
  FileSystem file_system = FileSystem::kOther;
  /// While the stamp stays the same, the directory's names and rights stay the same. None: names or
  /// rights may change without a change of the stamp.
  std::optional<ContentStamp> stamp = std::nullopt;
};

/// Checks each directory on the way to a requester's file, and the file itself. The checks use
/// descriptors or entries of open directories, so that a path can't be redirected between check and
/// use. Each build needs its own object. Not thread-safe.
class AccessRules {
 public:
  /// `checked` must outlive the rules.
  AccessRules(Reach reach, std::vector<std::string> own_places, CheckedDirectories& checked)
      : reach_(reach), refused_(std::move(own_places)), checked_(checked) {}

  /// Checks that names may be looked up in an open (O_PATH) directory. `status` was taken at
  /// `now_ns` or later. Names in /proc, /sys and /dev may be looked up, although no file there is
  /// given to a requester.
  Reached<Searchable> CheckSearch(int directory, const struct statx& status, int64_t now_ns);

  /// Checks that `name` in `directory` may be given to the requester. If `name` is empty, checks
  /// the file of the descriptor `directory` itself. The file must not be a symlink. Returns the
  /// file system on which it lies.
  Reached<FileSystem> CheckTarget(int directory, const std::string& name,
                                  const struct statx& status);

  /// Opens the regular file of an O_PATH descriptor for reading. For a stranger, opens it with the
  /// rights of the user nobody.
  Reached<FileDescriptor> OpenContents(int file) const;

  /// Returns whether a file's access list may deny this requester what the mode allows.
  [[nodiscard]] bool AccessListsMatter() const { return reach_.IsStrangers(); }

 private:
  const Reach reach_;
  RefusedPlaces refused_;
  FileSystems file_systems_;
  CheckedDirectories& checked_;
};

/// Returns whether a file or directory has a POSIX access list. Such a list may deny the access to
/// users to whom the mode allows it. `fd` may be an O_PATH descriptor. Also true if the list can't
/// be read.
[[nodiscard]] bool HasAccessList(int fd);

/// While an object of this class exists, and if the process is root, its thread opens files as the
/// user nobody (65534) without groups. This is a second check besides modes, for file systems whose
/// servers decide by uid. If root may not change its ids, as in some containers, modes are the only
/// check. Other threads are not affected. The thread that made the object must destroy it.
class StrangerRights {
 public:
  /// If `wanted` is false, the object has no effect.
  explicit StrangerRights(bool wanted);
  StrangerRights(const StrangerRights&) = delete;
  StrangerRights& operator=(const StrangerRights&) = delete;
  ~StrangerRights();

 private:
  bool changed_ = false;
  uid_t uid_ = 0;
  gid_t gid_ = 0;
  std::vector<gid_t> groups_;
};

}  // namespace cccl_cache::daemon
