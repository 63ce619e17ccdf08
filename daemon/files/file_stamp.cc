// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/files/file_stamp.h"

#include <fcntl.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <initializer_list>

namespace cccl_cache::daemon {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
/// Two ticks of the slowest kernel clock, 100 Hz.
constexpr int64_t kTwoTicks = 20'000'000;

int64_t Nanoseconds(const struct statx_timestamp& time) {
  return time.tv_sec * kSecond + time.tv_nsec;
}

}  // namespace

ContentStamp ContentStamp::Of(const struct statx& status) {
  return {.mount = status.stx_mnt_id,
          .device = DeviceOf(status),
          .inode = status.stx_ino,
          .size = status.stx_size,
          .mtime_ns = Nanoseconds(status.stx_mtime),
          .ctime_ns = Nanoseconds(status.stx_ctime)};
}

bool ContentStamp::IsSettledAt(int64_t now_ns, int64_t write_back_ns) const {
  // ext4 with small inodes, like ext2 and ext3, stamps in whole seconds.
  const bool whole_seconds = ctime_ns % kSecond == 0;
  return now_ns - ctime_ns >= std::max(whole_seconds ? 2 * kSecond : kTwoTicks, write_back_ns);
}

std::optional<int64_t> KernelWriteBack(const std::string& directory) {
  const auto setting = [&](const char* name, int64_t otherwise) {
    int64_t centiseconds = 0;
    std::ifstream(directory + "/" + name) >> centiseconds || (centiseconds = otherwise);
    return centiseconds * (kSecond / 100);
  };
  const int64_t expire = setting("dirty_expire_centisecs", 3000);
  const int64_t interval = setting("dirty_writeback_centisecs", 500);
  if (interval == 0) return std::nullopt;
  // One interval until the kernel looks, and one to write.
  return expire + 2 * interval;
}

size_t ContentStampHash::operator()(const ContentStamp& stamp) const {
  uint64_t hash = 0;
  for (const uint64_t part :
       {stamp.mount, stamp.device, stamp.inode, stamp.size, static_cast<uint64_t>(stamp.mtime_ns),
        static_cast<uint64_t>(stamp.ctime_ns)}) {
    hash = (hash ^ part) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  return hash;
}

int64_t FileTimeNow() {
  struct timespec now {};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

int StatusAt(int directory, const std::string& name, struct statx* status) {
  constexpr unsigned kFields = STATX_BASIC_STATS | STATX_MNT_ID | kStatxDirectIo;
  const int flags = AT_SYMLINK_NOFOLLOW | (name.empty() ? AT_EMPTY_PATH : 0);
  return statx(directory, name.c_str(), flags, kFields, status) == 0 ? 0 : errno;
}

uint64_t DeviceOf(const struct statx& status) {
  return uint64_t{status.stx_dev_major} << 32 | status.stx_dev_minor;
}

}  // namespace cccl_cache::daemon
