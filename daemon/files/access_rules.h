// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "daemon/files/file_systems.h"
#include "daemon/files/path_error.h"

namespace cccl_cache::daemon {

/// How far the daemon goes for a requester: to the daemon's own uid, whatever the daemon can read;
/// to others what everybody can read by the modes of files and directories, less what the service's
/// user owns. All three classes of a mode must allow it: "owner" or "group" without a right keeps
/// it from the very users that are meant, who may be those that ask. Immutable.
class Reach {
 public:
  Reach(uid_t requester, uid_t own) : own_(own), stranger_(requester != own) {}

  [[nodiscard]] bool IsStrangers() const { return stranger_; }
  [[nodiscard]] bool MaySearch(const struct statx& directory) const;
  [[nodiscard]] bool MayRead(const struct statx& file) const;

 private:
  [[nodiscard]] bool Allows(const struct statx& status, mode_t everybody) const;

  uid_t own_;
  bool stranger_;
};

inline constexpr uint64_t kMaxFileBytes = uint64_t{64} << 20;

/// Judges what is found on the way to a requester's file and at its end. Always of descriptors or
/// entries of open directories, so that nothing can be swapped between judging and using it. For
/// one build. Not thread-safe.
class AccessRules {
 public:
  AccessRules(Reach reach, std::vector<std::string> own_directories)
      : reach_(reach), refused_(std::move(own_directories)) {}

  /// Whether names may be looked up in an open (O_PATH) directory; if so, what it lies on.
  Reached<FileSystem> CheckSearch(int directory, const struct statx& status);

  /// Whether `name` in `directory` ("": the descriptor itself) may be given; if so, what it lies
  /// on. Not for symlinks.
  Reached<FileSystem> CheckTarget(int directory, const std::string& name,
                                  const struct statx& status);

  /// An open (O_PATH) regular file for reading, with the rights that the requester is due.
  Reached<FileDescriptor> OpenContents(int file) const;

  /// Whether a mode alone does not decide for this requester.
  [[nodiscard]] bool AccessListsMatter() const { return reach_.IsStrangers(); }

 private:
  Reached<FileSystem> CheckPlace(int directory, const std::string& name,
                                 const struct statx& status);

  const Reach reach_;
  RefusedPlaces refused_;
  FileSystems file_systems_;
};

/// Whether a file or directory has a POSIX access list, which may keep out users whom its mode lets
/// in. `fd` may be an O_PATH one. True also where that can't be found out.
[[nodiscard]] bool HasAccessList(int fd);

/// While it lives, and if the process is root, this thread opens files as nobody (65534) without
/// groups. A second wall beside modes, for file systems whose servers decide by uid;
/// where root may not change its ids, as in some containers, modes are the only one. Of other
/// threads nothing changes. To be destroyed by the thread that made it.
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
