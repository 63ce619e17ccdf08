// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/files/file_status.h"

#include <fcntl.h>

#include <cerrno>

namespace cccl_cache::daemon {

int StatusAt(int directory, const std::string& name, struct statx* status) {
  constexpr unsigned kFields = STATX_BASIC_STATS | STATX_MNT_ID | kStatxDirectIo;
  const int flags = AT_SYMLINK_NOFOLLOW | (name.empty() ? AT_EMPTY_PATH : 0);
  return statx(directory, name.c_str(), flags, kFields, status) == 0 ? 0 : errno;
}

uint64_t DeviceOf(const struct statx& status) {
  return uint64_t{status.stx_dev_major} << 32 | status.stx_dev_minor;
}

}  // namespace cccl_cache::daemon
