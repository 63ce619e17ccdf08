// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>

namespace cccl_cache {

/// What the paths of a process mean: two processes whose views are equal find the same files under
/// the same absolute names. 0 stands for nothing that a kernel gives out.
struct FilesView {
  uint64_t mount_namespace = 0;  ///< inode of /proc/self/ns/mnt
  uint64_t root_device = 0;      ///< of "/", another one after chroot
  uint64_t root_inode = 0;

  bool operator==(const FilesView&) const = default;
};

/// None where /proc is not mounted. Two system calls.
[[nodiscard]] inline std::optional<FilesView> FilesViewOfThisProcess() {
  struct stat name_space {};
  struct stat root {};
  if (stat("/proc/self/ns/mnt", &name_space) != 0 || stat("/", &root) != 0) return std::nullopt;
  return FilesView{name_space.st_ino, root.st_dev, root.st_ino};
}

}  // namespace cccl_cache
