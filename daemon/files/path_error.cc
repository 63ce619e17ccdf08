// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/files/path_error.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "daemon/files/access_rules.h"

namespace cccl_cache::daemon {
PathError PathError::Of(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
      return {Kind::kAbsent};
    case EACCES:
    case EPERM:
      return {Kind::kClientOnly};
    default:
      return {Kind::kFailed, error};
  }
}

Error Explain(const PathError& obstacle, std::string_view path) {
  switch (obstacle.kind) {
    case PathError::Kind::kClientOnly:
      return {ErrorCode::kFilesNeeded,
              fmt::format("{} is not open to everybody: a client that may read it sends it to the "
                          "daemon. If you may not, open it and its directories to yourself "
                          "(chmod), or leave its directory out of those that are searched",
                          path)};
    case PathError::Kind::kRefused:
      return {ErrorCode::kDenied,
              fmt::format(
                  "{} leads to where no build gets files from: /proc, /sys, /dev, or the "
                  "daemon's own directories and files. Take it out of the include directories, or "
                  "copy the file elsewhere",
                  path)};
    case PathError::Kind::kSpecial:
      return {ErrorCode::kDenied,
              fmt::format("{} is no regular file but a FIFO, a device or a socket: copy what it "
                          "gives into a regular file",
                          path)};
    case PathError::Kind::kTooLarge:
      return {ErrorCode::kDenied,
              fmt::format("{} is larger than {} MiB, the most that is read of one file: split it",
                          path, kMaxFileBytes >> 20)};
    case PathError::Kind::kChanging:
      return {
          ErrorCode::kUnavailable,
          fmt::format("{} keeps changing while it is read: build when its writer is done", path)};
    case PathError::Kind::kAbsent:
    case PathError::Kind::kFailed:
      break;
  }
  return {ErrorCode::kUnavailable,
          fmt::format("{} cannot be looked at: {}", path, std::strerror(obstacle.error))};
}

}  // namespace cccl_cache::daemon
