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

/// The files that the daemon may open for a requester. For the daemon's own user: all that the
/// daemon can read. For others: what everybody can read by the modes of files and directories,
/// less what another user keeps. All three classes of a mode must allow it: a mode that denies
/// "owner" or "group" a right is meant to keep out those users, and the requester may be one of
/// them. Immutable.
class Reach {
 public:
  /// `keeper`: the user none of whose files are given to strangers; 0: none.
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

/// Directories that were checked for strangers, apart from their modes and owners: they have no
/// access list, and nobody opens them. Keyed by their stamps: a new list changes the stamp. An LRU
/// bounded in directories. Thread-safe.
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
  /// While it stays the same, so do the directory's names and rights. None: they may change without
  /// it.
  std::optional<ContentStamp> stamp = std::nullopt;
};

/// Checks each directory on the way to a requester's file, and the file itself. It always checks
/// descriptors or entries of open directories, so that nothing can be swapped between check and
/// use. For one build. Not thread-safe.
class AccessRules {
 public:
  /// `checked` must outlive the rules.
  AccessRules(Reach reach, std::vector<std::string> own_places, CheckedDirectories& checked)
      : reach_(reach), refused_(std::move(own_places)), checked_(checked) {}

  /// Checks that names may be looked up in an open (O_PATH) directory. `status` was taken at
  /// `now_ns` or later. A file system of the kernel's own may be looked into, but nothing in it may
  /// be given.
  Reached<Searchable> CheckSearch(int directory, const struct statx& status, int64_t now_ns);

  /// Checks that `name` in `directory` ("": the descriptor itself) may be given to the requester.
  /// Returns the file system that it lies on. Not for symlinks.
  Reached<FileSystem> CheckTarget(int directory, const std::string& name,
                                  const struct statx& status);

  /// Opens the regular file of an O_PATH descriptor for reading, with the rights due to the
  /// requester.
  Reached<FileDescriptor> OpenContents(int file) const;

  /// Returns whether a mode alone does not decide for this requester.
  [[nodiscard]] bool AccessListsMatter() const { return reach_.IsStrangers(); }

 private:
  const Reach reach_;
  RefusedPlaces refused_;
  FileSystems file_systems_;
  CheckedDirectories& checked_;
};

/// Returns whether a file or directory has a POSIX access list, which may keep out users whom its
/// mode lets in. `fd` may be an O_PATH descriptor. Also true if that can't be found out.
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
