// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// The role of a directory or file on the path to a trusted file.
enum class PathRole : uint8_t {
  kPassedThrough,  ///< a parent directory; with the sticky bit (/tmp) all users may write it
  kHolder,         ///< a directory with relevant entries: only root and `own_uid` may add an entry
  kFile,
};

/// Returns why users other than root and `own_uid` could change the path, with the remedy. None if
/// they can't.
///
/// In a sticky directory only root and the owners of the entry and of the directory may rename or
/// remove an entry. An entry of ours in such a directory of ours is therefore safe. But any user
/// may add entries, so the directory must not hold files that are found by listing. Write
/// permission by an access control list shows in the group's bits and needs no check of its own.
[[nodiscard]] std::optional<std::string> WhyNotTrusted(const std::string& path,
                                                       const struct stat& status, PathRole role,
                                                       uid_t own_uid);

/// Receives each name on a path before it is looked up.
class LookupObserver {
 public:
  virtual ~LookupObserver() = default;
  /// `name` is about to be looked up in `directory` (absolute, no symlinks).
  virtual void OnLookup(const std::string& directory, const std::string& name) = 0;
  /// `directory` is about to be listed.
  virtual void OnListing(const std::string& directory) = 0;
};

struct TrustedPath {
  std::string path;  ///< symlinks resolved
  struct stat status {};
};

/// Resolves an absolute path as the kernel does, and checks each directory on the way, also of
/// symlinks' targets. `holder` is the role of the directory with the last name. The target must be
/// a regular file or a directory that others can't write. kDenied: another user could change the
/// path's target or its contents. kUnavailable: the path can't be looked up (for example, it does
/// not exist).
[[nodiscard]] Result<TrustedPath> FollowTrusted(const std::string& path, uid_t own_uid,
                                                PathRole holder, LookupObserver* observer);

}  // namespace cccl_cache::daemon
