// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/files/refused_places.h"

#include <fcntl.h>

#include "daemon/files/file_status.h"

namespace cccl_cache::daemon {
namespace {

std::optional<std::pair<uint64_t, uint64_t>> Identity(const std::string& path) {
  struct statx status {};
  if (statx(AT_FDCWD, path.c_str(), 0, STATX_BASIC_STATS, &status) != 0) return std::nullopt;
  return std::pair(DeviceOf(status), uint64_t{status.stx_ino});
}

}  // namespace

bool RefusedPlaces::Include(const struct statx& status) {
  if (!known_) known_ = LookUp();
  const uint64_t device = DeviceOf(status);
  return known_->device_of_devices == device ||
         (S_ISDIR(status.stx_mode) && known_->directories.contains({device, status.stx_ino}));
}

RefusedPlaces::Known RefusedPlaces::LookUp() const {
  Known known;
  std::vector<std::string> paths = own_;
  paths.insert(paths.end(), {"/proc", "/sys", "/dev"});
  for (const std::string& path : paths) {
    if (const auto identity = Identity(path)) known.directories.insert(*identity);
  }
  const auto root = Identity("/");
  const auto devices = Identity("/dev");
  if (root && devices && root->first != devices->first) known.device_of_devices = devices->first;
  return known;
}

}  // namespace cccl_cache::daemon
