// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/files/reach.h"

namespace cccl_cache::daemon {

bool Reach::MaySearch(const struct statx& directory) const {
  return Allows(directory, S_IXUSR | S_IXGRP | S_IXOTH);
}

bool Reach::MayRead(const struct statx& file) const {
  return Allows(file, S_IRUSR | S_IRGRP | S_IROTH);
}

bool Reach::Allows(const struct statx& status, mode_t everybody) const {
  if (!stranger_) return true;
  // Root owns what everybody includes from.
  if (own_ != 0 && status.stx_uid == own_) return false;
  return (status.stx_mode & everybody) == everybody;
}

}  // namespace cccl_cache::daemon
