// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdint>
#include <optional>

namespace cccl_cache {

/// What the paths of a thread mean: two whose views are equal find the same files under the same
/// absolute names. 0 stands for nothing that a kernel gives out.
struct FilesView {
  uint64_t mount_namespace = 0;  ///< inode of its namespace's file
  uint64_t root_device = 0;      ///< of "/", another one after chroot
  uint64_t root_inode = 0;
  /// Of "/": another one where a bind mount of the same directory is the root, under which what is
  /// mounted below the first one may be missing. 0: the kernel does not tell (before 5.8).
  uint64_t root_mount = 0;

  bool operator==(const FilesView&) const = default;
};

/// Of the calling thread, which may have entered another namespace or root than its process. None
/// where /proc is not mounted. Two system calls.
[[nodiscard]] inline std::optional<FilesView> FilesViewOfThisThread() {
  struct stat name_space {};
  struct statx root {};
  if (stat("/proc/thread-self/ns/mnt", &name_space) != 0 ||
      statx(AT_FDCWD, "/", 0, STATX_BASIC_STATS | STATX_MNT_ID, &root) != 0) {
    return std::nullopt;
  }
  const uint64_t device = uint64_t{root.stx_dev_major} << 32 | root.stx_dev_minor;
  return FilesView{name_space.st_ino, device, root.stx_ino,
                   (root.stx_mask & STATX_MNT_ID) != 0 ? root.stx_mnt_id : 0};
}

}  // namespace cccl_cache
