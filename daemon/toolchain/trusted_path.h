// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <string>

#include "daemon/core/model/result.h"
#include "daemon/toolchain/ownership.h"

namespace cccl_cache::daemon {

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
