// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// What a directory or file is on the way to a toolchain.
enum class PathRole : uint8_t {
  kPassedThrough,  ///< a directory above; one with the sticky bit (/tmp) may be writable by all
  kHolder,         ///< a directory whose entries count: nobody else may add one
  kFile,
};

/// Why others than root and `own_uid` could change it, and the way out; nothing if they can't.
///
/// In a sticky directory only the owner of an entry, of the directory, or root may rename or remove
/// the entry. So an entry of ours in such a directory of ours is as safe as elsewhere, but anybody
/// may add entries: such a directory may be passed through and can't hold what is looked up by
/// listing. Write permission by an access control list shows in the group's bits, so it needs no
/// look of its own.
[[nodiscard]] std::optional<std::string> WhyNotTrusted(const std::string& path,
                                                       const struct stat& status, PathRole role,
                                                       uid_t own_uid);

/// Is told of each name that decides where a path leads, before it is looked up.
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

/// Follows an absolute path as the kernel does and checks each directory on the way, symlinks'
/// targets included. `holder`: the role of the directory that the last name lies in. The target
/// itself must be a regular file or a directory in which others can't write. kDenied: somebody else
/// could make the path lead elsewhere or change what it leads to; kUnavailable: it can't be looked
/// up (does not exist).
[[nodiscard]] Result<TrustedPath> FollowTrusted(const std::string& path, uid_t own_uid,
                                                PathRole holder, LookupObserver* observer);

}  // namespace cccl_cache::daemon
