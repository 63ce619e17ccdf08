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
  kPassedThrough,  ///< a parent directory; all users may write it if it has the sticky bit (/tmp)
  kHolder,         ///< a directory whose entries matter: only root and `own_uid` may add entries
  kFile,
};

/// Returns why users other than root and `own_uid` could change the file or directory, with the
/// remedy. Returns none if they can't.
///
/// In a directory with the sticky bit, only root and the owners of the entry and of the directory
/// may rename or remove an entry. An entry of root or `own_uid` in such a directory is thus safe.
/// But any user may add entries there, so files that are found by listing must be in a directory
/// without write permission for others. Write permission by an access control list shows in the
/// group's bits and needs no check of its own.
[[nodiscard]] std::optional<std::string> WhyNotTrusted(const std::string& path,
                                                       const struct stat& status, PathRole role,
                                                       uid_t own_uid);

/// The interface by which FollowTrusted reports each name on a path before it is looked up. It also
/// gets each directory before the directory is listed.
class LookupObserver {
 public:
  virtual ~LookupObserver() = default;
  /// Called before `name` is looked up in `directory`, which is absolute and without symlinks.
  virtual void OnLookup(const std::string& directory, const std::string& name) = 0;
  /// Called before `directory` is listed.
  virtual void OnListing(const std::string& directory) = 0;
};

struct TrustedPath {
  std::string path;  ///< absolute path with symlinks resolved
  struct stat status {};
};

/// Resolves an absolute path as the kernel does. Checks each directory on the way, also on the way
/// to the targets of symlinks. `holder` is the role of the directory that has the last name of the
/// path. The target must be a regular file or directory that other users can't write. `observer`
/// may be null. kDenied: another user could change the target or make the path lead elsewhere.
/// kUnavailable: the path can't be looked up, for example because it does not exist.
[[nodiscard]] Result<TrustedPath> FollowTrusted(const std::string& path, uid_t own_uid,
                                                PathRole holder, LookupObserver* observer);

}  // namespace cccl_cache::daemon
