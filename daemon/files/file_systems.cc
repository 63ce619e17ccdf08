// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/files/file_systems.h"

#include <fcntl.h>
#include <sys/vfs.h>

#include <cerrno>
#include <optional>

#include "base/files/file_descriptor.h"

namespace cccl_cache::daemon {
namespace {

std::pair<uint64_t, uint64_t> Numbers(const struct statx& status) {
  return {status.stx_mnt_id, DeviceOf(status)};
}

std::optional<std::pair<uint64_t, uint64_t>> Identity(const std::string& path) {
  struct statx status {};
  if (statx(AT_FDCWD, path.c_str(), 0, STATX_BASIC_STATS, &status) != 0) return std::nullopt;
  return std::pair(DeviceOf(status), uint64_t{status.stx_ino});
}

}  // namespace

Reached<FileSystem> FileSystems::Of(int directory, const std::string& name,
                                    const struct statx& status) {
  if (const auto found = known_.find(Numbers(status)); found != known_.end()) return found->second;
  FileDescriptor opened;
  int fd = directory;
  if (!name.empty()) {
    opened = FileDescriptor(openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!opened.valid()) return PathError::Of(errno);
    fd = opened.get();
    struct statx now {};
    if (const int error = StatusAt(fd, "", &now); error != 0) return PathError::Of(error);
    if (Numbers(now) != Numbers(status)) return PathError{PathError::Kind::kChanging};
  }
  struct statfs system {};
  if (fstatfs(fd, &system) != 0) return PathError::Of(errno);
  return known_[Numbers(status)] = KindOf(system, status);
}

bool RefusedPlaces::Include(const struct statx& status) {
  const Known& known = GetKnown();
  const uint64_t device = DeviceOf(status);
  return known.device_of_devices == device || known.closed.contains({device, status.stx_ino}) ||
         known.open.contains({device, status.stx_ino});
}

bool RefusedPlaces::Close(const struct statx& directory) {
  return GetKnown().closed.contains({DeviceOf(directory), uint64_t{directory.stx_ino}});
}

const RefusedPlaces::Known& RefusedPlaces::GetKnown() {
  if (!known_) known_ = LookUp();
  return *known_;
}

RefusedPlaces::Known RefusedPlaces::LookUp() const {
  Known known;
  for (const std::string& path : own_) {
    if (const auto identity = Identity(path)) known.closed.insert(*identity);
  }
  const auto root = Identity("/");
  for (const char* path : {"/proc", "/sys", "/dev"}) {
    const auto identity = Identity(path);
    if (!identity) continue;
    // If /proc or /sys is not a mount of its own, its files can't be recognised by their file
    // system, so no names in it may be looked up.
    const bool own_device = root && root->first != identity->first;
    (own_device ? known.open : known.closed).insert(*identity);
    if (own_device && path == std::string_view("/dev")) known.device_of_devices = identity->first;
  }
  return known;
}

}  // namespace cccl_cache::daemon
