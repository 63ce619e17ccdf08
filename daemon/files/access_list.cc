// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/files/access_list.h"

#include <fmt/format.h>
#include <sys/xattr.h>

#include <cerrno>

namespace cccl_cache::daemon {

bool HasAccessList(int fd) {
  // fgetxattr takes no O_PATH descriptor.
  const std::string path = fmt::format("/proc/self/fd/{}", fd);
  if (getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) >= 0) return true;
  return errno != ENODATA && errno != EOPNOTSUPP;
}

}  // namespace cccl_cache::daemon
