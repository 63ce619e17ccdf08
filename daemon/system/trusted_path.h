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
  kPassedThrough,  ///< a parent directory; one with the sticky bit (/tmp) may be writable by all
  kHolder,         ///< a directory whose entries count: only root and `own_uid` may add one
  kFile,
};

/// Returns why users other than root and `own_uid` could change the path, with the way out. None if
/// they can't.
///
/// In a sticky directory only the owner of an entry, of the directory, or root may rename or remove
/// the entry. So an entry of ours in such a directory of ours is as safe as elsewhere. But any user
/// may add entries: the directory may be passed through, and can't hold anything that is found by
/// listing. Write permission by an access control list shows in the group's bits, so it needs no
/// check of its own.
[[nodiscard]] std::optional<std::string> WhyNotTrusted(const std::string& path,
                                                       const struct stat& status, PathRole role,
                                                       uid_t own_uid);

/// Receives each name that decides where a path leads, before it is looked up.
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

/// Resolves an absolute path as the kernel does and checks each directory on the way, symlinks'
/// targets included. `holder` is the role of the directory that the last name lies in. The target
/// itself must be a regular file or a directory in which others can't write. kDenied: another user
/// could make the path lead elsewhere or change its target. kUnavailable: it can't be looked up
/// (does not exist).
[[nodiscard]] Result<TrustedPath> FollowTrusted(const std::string& path, uid_t own_uid,
                                                PathRole holder, LookupObserver* observer);

}  // namespace cccl_cache::daemon
