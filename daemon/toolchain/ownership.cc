// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/ownership.h"

#include <fmt/format.h>

namespace cccl_cache::daemon {

std::optional<std::string> WhyNotTrusted(const std::string& path, const struct stat& status,
                                         PathRole role, uid_t own_uid) {
  if (status.st_uid != 0 && status.st_uid != own_uid) {
    return fmt::format(
        "{} belongs to uid {}, who can change it; only files that nobody but root and the daemon's "
        "uid {} can write are used: install it as root (chown -R root), or run a daemon as that "
        "user",
        path, status.st_uid, own_uid);
  }
  const bool sticky = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) == 0) return std::nullopt;
  if (sticky && role == PathRole::kPassedThrough) return std::nullopt;
  return fmt::format(
      "{} can be written by others (owner uid {}, group {}, mode {:04o}); only files that nobody "
      "but "
      "root and the daemon's uid {} can write are used: chmod -R go-w, or install it elsewhere",
      path, status.st_uid, status.st_gid, status.st_mode & 07777, own_uid);
}

}  // namespace cccl_cache::daemon
