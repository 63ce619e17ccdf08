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

/// The files that the daemon may open for a requester. For the daemon's own user: every file that
/// the daemon can read. For other users: files whose mode, and whose directories' modes, let
/// everybody in, except files of `keeper`. All three classes of a mode must allow the access: a
/// mode that denies it to the owner or the group may be meant to keep the requester out. Immutable.
class Reach {
 public:
  /// `keeper`: the user whose files no other user is given; 0: there is none.
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

/// Directories in which a stranger's path may be resolved: they have no access list and are not
/// refused places. Modes and owners are checked each time. Keyed by the directories' stamps: a new
/// access list changes the stamp. An LRU bounded in directories. Thread-safe.
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
  /// While the stamp stays the same, so do the directory's names and rights. None: names or rights
  /// may change without a change of the stamp.
  std::optional<ContentStamp> stamp = std::nullopt;
};

/// Checks each directory on the way to a requester's file, and the file itself. The checks use
/// descriptors or entries of open directories, so that a path can't be redirected between check and
/// use. For one build. Not thread-safe.
class AccessRules {
 public:
  /// `checked` must outlive the rules.
  AccessRules(Reach reach, std::vector<std::string> own_places, CheckedDirectories& checked)
      : reach_(reach), refused_(std::move(own_places)), checked_(checked) {}

  /// Checks that names may be looked up in an open (O_PATH) directory. `status` was taken at
  /// `now_ns` or later. In /proc, /sys and /dev names may be looked up, but no file is given.
  Reached<Searchable> CheckSearch(int directory, const struct statx& status, int64_t now_ns);

  /// Checks that `name` in `directory` ("": the descriptor itself) may be given to the requester.
  /// Returns the file system that it lies on. Not for symlinks.
  Reached<FileSystem> CheckTarget(int directory, const std::string& name,
                                  const struct statx& status);

  /// Opens the regular file of an O_PATH descriptor for reading, with the rights due to the
  /// requester.
  Reached<FileDescriptor> OpenContents(int file) const;

  /// Returns whether a file's access list may deny this requester what the mode allows.
  [[nodiscard]] bool AccessListsMatter() const { return reach_.IsStrangers(); }

 private:
  const Reach reach_;
  RefusedPlaces refused_;
  FileSystems file_systems_;
  CheckedDirectories& checked_;
};

/// Returns whether a file or directory has a POSIX access list, which may keep out users whom its
/// mode lets in. `fd` may be an O_PATH descriptor. Also true if the list can't be read.
[[nodiscard]] bool HasAccessList(int fd);

/// While the object lives, and if the process is root, this thread opens files as nobody (65534)
/// without groups. That is a second check besides modes, for file systems whose servers decide by
/// uid. If root may not change its ids, as in some containers, modes are the only check. Other
/// threads are not affected. The thread that made the object must destroy it.
class StrangerRights {
 public:
  /// Does nothing if not `wanted`.
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
