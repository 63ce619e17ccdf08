// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/files/access_rules.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>

#include "daemon/files/access_list.h"
#include "daemon/files/stranger_rights.h"

namespace cccl_cache::daemon {

Reached<FileSystem> AccessRules::CheckSearch(int directory, const struct statx& status) {
  Reached<FileSystem> place = CheckPlace(directory, "", status);
  if (std::holds_alternative<Obstacle>(place) || !reach_.IsStrangers()) return place;
  if (!reach_.MaySearch(status) || HasAccessList(directory)) {
    return Obstacle{Obstacle::Kind::kClientOnly};
  }
  const StrangerRights rights(true);
  const FileDescriptor searched(openat(directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!searched.valid()) return Obstacle::Of(errno);
  return place;
}

Reached<FileSystem> AccessRules::CheckTarget(int directory, const std::string& name,
                                             const struct statx& status) {
  Reached<FileSystem> place = CheckPlace(directory, name, status);
  if (std::holds_alternative<Obstacle>(place) || S_ISDIR(status.stx_mode)) return place;
  if (!S_ISREG(status.stx_mode)) return Obstacle{Obstacle::Kind::kSpecial};
  if (!reach_.MayRead(status)) return Obstacle{Obstacle::Kind::kClientOnly};
  if (status.stx_size > kMaxFileBytes) return Obstacle{Obstacle::Kind::kTooLarge};
  return place;
}

Reached<FileDescriptor> AccessRules::OpenContents(int file) const {
  if (reach_.IsStrangers() && HasAccessList(file)) return Obstacle{Obstacle::Kind::kClientOnly};
  const StrangerRights rights(reach_.IsStrangers());
  const std::string path = fmt::format("/proc/self/fd/{}", file);
  FileDescriptor contents(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  // What is open can't be absent: it is /proc that is missing.
  if (!contents.valid() && errno == ENOENT) return Obstacle{Obstacle::Kind::kFailed, ENOENT};
  if (!contents.valid()) return Obstacle::Of(errno);
  return contents;
}

Reached<FileSystem> AccessRules::CheckPlace(int directory, const std::string& name,
                                            const struct statx& status) {
  if (refused_.Include(status)) return Obstacle{Obstacle::Kind::kRefused};
  Reached<FileSystem> system = file_systems_.Of(directory, name, status);
  if (const auto* kind = std::get_if<FileSystem>(&system)) {
    if (*kind == FileSystem::kKernel) return Obstacle{Obstacle::Kind::kRefused};
  }
  return system;
}

}  // namespace cccl_cache::daemon
