// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/files/file_systems.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <cerrno>
#include <optional>

#include "base/file_descriptor.h"
#include "daemon/files/file_stamp.h"

namespace cccl_cache::daemon {
namespace {

// Not in linux/magic.h.
constexpr uint32_t kBtrfsMagic = 0x9123683e;
constexpr uint32_t kXfsMagic = 0x58465342;
constexpr uint32_t kZfsMagic = 0x2fc12fc1;
constexpr uint32_t kConfigfsMagic = 0x62656570;
constexpr uint32_t kMqueueMagic = 0x19800202;
constexpr uint32_t kFuseControlMagic = 0x65735543;

FileSystem KindOf(const struct statfs& status) {
  switch (static_cast<uint32_t>(status.f_type)) {
    case EXT4_SUPER_MAGIC:  // also ext2, ext3
    case kXfsMagic:
    case kBtrfsMagic:
    case kZfsMagic:
      return FileSystem::kDisk;
    case TMPFS_MAGIC:
      return FileSystem::kMemory;
    case OVERLAYFS_SUPER_MAGIC:
      return FileSystem::kOverlay;
    case PROC_SUPER_MAGIC:
    case SYSFS_MAGIC:
    case DEBUGFS_MAGIC:
    case TRACEFS_MAGIC:
    case SECURITYFS_MAGIC:
    case SELINUX_MAGIC:
    case SMACK_MAGIC:
    case CGROUP_SUPER_MAGIC:
    case CGROUP2_SUPER_MAGIC:
    case BPF_FS_MAGIC:
    case DEVPTS_SUPER_MAGIC:
    case NSFS_MAGIC:
    case PSTOREFS_MAGIC:
    case EFIVARFS_MAGIC:
    case BINFMTFS_MAGIC:
    case kConfigfsMagic:
    case kMqueueMagic:
    case kFuseControlMagic:
      return FileSystem::kKernel;
    default:
      return FileSystem::kOther;
  }
}

std::pair<uint64_t, uint64_t> Numbers(const struct statx& status) {
  return {status.stx_mnt_id, DeviceOf(status)};
}

std::optional<std::pair<uint64_t, uint64_t>> Identity(const std::string& path) {
  struct statx status {};
  if (statx(AT_FDCWD, path.c_str(), 0, STATX_BASIC_STATS, &status) != 0) return std::nullopt;
  return std::pair(DeviceOf(status), uint64_t{status.stx_ino});
}

}  // namespace

bool IsWrittenBack(FileSystem system, const struct statx& file) {
  // An overlay reports direct I/O as the file system of the file itself does; a file system in
  // memory has none. Kernels before 6.1 don't report it, nor do all file systems.
  if (system == FileSystem::kOverlay) return (file.stx_mask & kStatxDirectIo) != 0;
  return system == FileSystem::kDisk;
}

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
  return known_[Numbers(status)] = KindOf(system);
}

bool RefusedPlaces::Include(const struct statx& status) {
  const Known& known = GetKnown();
  const uint64_t device = DeviceOf(status);
  return known.device_of_devices == device ||
         (S_ISDIR(status.stx_mode) && (known.closed.contains({device, status.stx_ino}) ||
                                       known.open.contains({device, status.stx_ino})));
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
    // Without a file system of its own its entries look like any others.
    const bool own_device = root && root->first != identity->first;
    (own_device ? known.open : known.closed).insert(*identity);
    if (own_device && path == std::string_view("/dev")) known.device_of_devices = identity->first;
  }
  return known;
}

}  // namespace cccl_cache::daemon
