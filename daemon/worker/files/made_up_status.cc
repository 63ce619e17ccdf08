// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/files/made_up_status.h"

namespace cccl_cache::daemon::made_up_status {
namespace {

/// Not those of file systems, whose inodes are compared with these.
constexpr dev_t kDirectories = 1;
constexpr dev_t kOutside = 2;
constexpr off_t kBlock = 4096;

struct stat Make(dev_t device, uint64_t inode, mode_t mode, uint64_t size) {
  struct stat status {};
  status.st_dev = device;
  status.st_ino = inode;
  status.st_mode = mode;
  status.st_nlink = S_ISDIR(mode) ? 2 : 1;
  status.st_size = static_cast<off_t>(size);
  status.st_blksize = kBlock;
  status.st_blocks = (status.st_size + 511) / 512;
  status.st_mtim.tv_sec = 1;
  status.st_ctim.tv_sec = 1;
  status.st_atim.tv_sec = 1;
  return status;
}

}  // namespace

struct stat Directory(uint64_t inode) {
  return Make(kDirectories, inode, S_IFDIR | 0755, kBlock);
}

struct stat OutsideDirectory(uint64_t identity) {
  return Make(kOutside, identity, S_IFDIR | 0755, kBlock);
}

struct stat File(uint64_t identity, uint64_t size) {
  return Make(kOutside, identity, S_IFREG | 0644, size);
}

}  // namespace cccl_cache::daemon::made_up_status
