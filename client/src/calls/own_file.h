// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "proto/digest.h"

namespace cccl_cache {

/// What lies under a name of this process's, as a daemon is told.
struct OwnFile {
  enum class Kind { kAbsent, kRegular, kDirectory, kRefused };
  Kind kind = Kind::kAbsent;
  uint64_t device = 0;  ///< major number << 32 | minor number
  uint64_t inode = 0;
  Digest digest;         ///< of a file's contents
  std::string contents;  ///< of a file
  std::string reason;    ///< why refused
};

/// Looks as this process may, symlinks followed. Only regular files are opened, and none that the
/// kernel makes up (/proc): the rest is refused. `contents` are read in any case; the digest is
/// computed only where they are not wanted.
[[nodiscard]] OwnFile LookAtOwnFile(const std::string& path, bool contents);

}  // namespace cccl_cache
