// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/files/file_stamp.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <initializer_list>
#include <system_error>

#include "base/files/file_descriptor.h"
#include "base/files/file_system_magic.h"
#include "base/files/whole_file.h"
#include "base/machine.h"

namespace cccl_cache {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
/// Two ticks of the slowest kernel clock, 100 Hz.
constexpr int64_t kTwoTicks = 20'000'000;

int64_t Nanoseconds(const struct statx_timestamp& time) {
  return time.tv_sec * kSecond + time.tv_nsec;
}

/// Returns the line in a kernel file of one line, without its newline; "" if it can't be read.
std::string Line(const std::string& path) {
  constexpr size_t kMost = 64;
  const std::string text = ReadFileAt(path, kMost).value_or("");
  return text.substr(0, text.find('\n'));
}

bool HasUniqueMount(const struct statx& status) {
  return (status.stx_mask & kStatxUniqueMount) != 0;
}

std::pair<uint64_t, uint64_t> Numbers(const struct statx& status) {
  return {status.stx_mnt_id, DeviceOf(status)};
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
  // ext2, ext3, and ext4 with small inodes stamp in whole seconds.
  const bool whole_seconds = ctime_ns % kSecond == 0;
  return now_ns - ctime_ns >= std::max(whole_seconds ? 2 * kSecond : kTwoTicks, write_back_ns);
}

FileSystem KindOf(const struct statfs& system, const struct statx& status) {
  switch (static_cast<uint32_t>(system.f_type)) {
    case EXT4_SUPER_MAGIC:  // also ext2, ext3
    case kXfsMagic:
    case kBtrfsMagic:
    case kZfsMagic:
    case kF2fsMagic:
    case kBcachefsMagic:
      // Before Linux 6.8, another read-only image that is mounted later may get the same mount id,
      // device and inode numbers.
      if ((system.f_flags & ST_RDONLY) != 0 && !HasUniqueMount(status)) return FileSystem::kOther;
      return FileSystem::kDisk;
    case TMPFS_MAGIC:
      return FileSystem::kMemory;
    case OVERLAYFS_SUPER_MAGIC:
      return HasUniqueMount(status) ? FileSystem::kOverlay : FileSystem::kOther;
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

bool StampsProve(FileSystem system, const struct statx& status) {
  const bool directory = S_ISDIR(status.stx_mode);
  switch (system) {
    case FileSystem::kDisk:
      return true;
    case FileSystem::kMemory:
      return directory;
    case FileSystem::kOverlay:
      // An overlay passes these two attributes on from the file system below it. Images, FUSE and
      // network file systems don't report STATX_ATTR_NODUMP, which chattr sets. File systems in
      // memory don't report direct I/O. Neither does Btrfs, so files on Btrfs under an overlay are
      // not proved by their stamps and are read again.
      return (status.stx_attributes_mask & STATX_ATTR_NODUMP) != 0 &&
             (directory || (status.stx_mask & kStatxDirectIo) != 0);
    case FileSystem::kKernel:
    case FileSystem::kOther:
      return false;
  }
  return false;
}

std::optional<int64_t> KernelWriteBack(const std::string& directory) {
  const auto setting = [&](const char* name, int64_t otherwise) {
    const std::string line = Line(directory + "/" + name);
    int64_t centiseconds = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), centiseconds);
    return (error == std::errc() ? centiseconds : otherwise) * (kSecond / 100);
  };
  const int64_t expire = setting("dirty_expire_centisecs", 3000);
  const int64_t interval = setting("dirty_writeback_centisecs", 500);
  if (interval == 0) return std::nullopt;
  // A dirty page is written when it is older than `expire`. The kernel looks for such pages once in
  // an interval, and may take another interval to write them.
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
  constexpr unsigned kFields =
      STATX_BASIC_STATS | STATX_MNT_ID | kStatxDirectIo | kStatxUniqueMount;
  const int flags = AT_SYMLINK_NOFOLLOW | (name.empty() ? AT_EMPTY_PATH : 0);
  return statx(directory, name.c_str(), flags, kFields, status) == 0 ? 0 : errno;
}

uint64_t DeviceOf(const struct statx& status) {
  return uint64_t{status.stx_dev_major} << 32 | status.stx_dev_minor;
}

StampReader::StampReader() : boot_(BootId()), write_back_ns_(KernelWriteBack()) {}

std::optional<StampReader::Stamp> StampReader::Of(int file) {
  struct statx status {};
  if (StatusAt(file, "", &status) != 0) return std::nullopt;
  std::optional<FileSystem> kind = Known(status);
  if (!kind) {
    struct statfs system {};
    if (fstatfs(file, &system) != 0) return std::nullopt;
    kind = known_[Numbers(status)] = KindOf(system, status);
  }
  return Judge(*kind, status);
}

std::optional<StampReader::Stamp> StampReader::At(const std::string& path) {
  struct statx status {};
  if (StatusAt(AT_FDCWD, path, &status) != 0) return std::nullopt;
  return At(path, status);
}

std::optional<StampReader::Stamp> StampReader::At(const std::string& path,
                                                  const struct statx& status) {
  if (const auto kind = Known(status)) return Judge(*kind, status);
  const FileDescriptor file(open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  return file.valid() ? Of(file.get()) : std::nullopt;
}

std::string StampReader::TextOf(const ContentStamp& stamp) const {
  std::string text = boot_;
  for (const uint64_t number : {stamp.mount, stamp.device, stamp.inode, stamp.size}) {
    text += ' ' + std::to_string(number);
  }
  return text + ' ' + std::to_string(stamp.mtime_ns) + ' ' + std::to_string(stamp.ctime_ns);
}

StampReader::Stamp StampReader::Judge(FileSystem system, const struct statx& status) const {
  const ContentStamp stamp = ContentStamp::Of(status);
  return {stamp, !boot_.empty() && write_back_ns_ && StampsProve(system, status) &&
                     stamp.IsSettledAt(FileTimeNow(), *write_back_ns_)};
}

std::optional<FileSystem> StampReader::Known(const struct statx& status) const {
  const auto found = known_.find(Numbers(status));
  return found == known_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace cccl_cache
