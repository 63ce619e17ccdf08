// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/own_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "client/src/transport/file_descriptor.h"

namespace cccl_cache {
namespace {

// As much as a daemon reads of one file by itself.
constexpr uint64_t kMaxBytes = uint64_t{64} << 20;
// How often a file is read that is written to at the same time.
constexpr int kMaxAttempts = 5;

OwnFile Refused(std::string reason) {
  OwnFile file;
  file.kind = OwnFile::Kind::kRefused;
  file.reason = std::move(reason);
  return file;
}

// What a failed system call on the path means.
OwnFile AfterError(int error) {
  if (error == EACCES) {
    return Refused(std::string(std::strerror(error)) +
                   ": you may not read it; open it and its directories to yourself (chmod), or "
                   "leave its directory out of those that are searched");
  }
  const bool absent =
      error == ENOENT || error == ENOTDIR || error == ELOOP || error == ENAMETOOLONG;
  return absent ? OwnFile{} : Refused(std::strerror(error));
}

bool SameStamp(const struct statx& one, const struct statx& other) {
  const auto same = [](const statx_timestamp& a, const statx_timestamp& b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
  };
  return one.stx_size == other.stx_size && same(one.stx_mtime, other.stx_mtime) &&
         same(one.stx_ctime, other.stx_ctime);
}

bool MadeUpByTheKernel(int file) {
  struct statfs system {};
  if (fstatfs(file, &system) != 0) return true;
  switch (static_cast<uint32_t>(system.f_type)) {
    case PROC_SUPER_MAGIC:
    case SYSFS_MAGIC:
    case DEBUGFS_MAGIC:
    case TRACEFS_MAGIC:
    case SECURITYFS_MAGIC:
    case CGROUP_SUPER_MAGIC:
    case CGROUP2_SUPER_MAGIC:
      return true;
    default:
      return false;
  }
}

// 0, or the errno. Stops once there is more than is sent.
int ReadWhole(int file, uint64_t expected, std::string* bytes) {
  size_t length = 0;
  while (length <= kMaxBytes) {
    // One more than expected, so that the end shows.
    if (length == bytes->size()) {
      bytes->resize(std::clamp<uint64_t>(2 * length, expected + 1, kMaxBytes + 1));
    }
    const ssize_t got = read(file, bytes->data() + length, bytes->size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) break;
    length += static_cast<size_t>(got);
  }
  bytes->resize(length);
  return 0;
}

// None: it changed meanwhile.
std::optional<OwnFile> ReadRegular(const std::string& path, bool contents) {
  // It was a regular file a moment ago; should it be a FIFO now, nobody waits for its writer.
  const FileDescriptor opened(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!opened.valid()) return errno == ENOENT ? std::nullopt : std::optional(AfterError(errno));
  struct statx before {};
  struct statx after {};
  const auto look = [&](struct statx* status) {
    return statx(opened.get(), "", AT_EMPTY_PATH, STATX_BASIC_STATS, status) == 0;
  };
  if (!look(&before)) return AfterError(errno);
  if (!S_ISREG(before.stx_mode)) return std::nullopt;
  if (MadeUpByTheKernel(opened.get())) return Refused("it is none but what the kernel makes up");
  OwnFile file;
  file.kind = OwnFile::Kind::kRegular;
  if (before.stx_size <= kMaxBytes) {
    const int error = ReadWhole(opened.get(), before.stx_size, &file.contents);
    if (error != 0) return Refused(std::strerror(error));
  }
  if (before.stx_size > kMaxBytes || file.contents.size() > kMaxBytes) {
    return Refused("it is larger than 64 MiB, the most that is read of one file: split it");
  }
  if (!look(&after) || !SameStamp(before, after)) return std::nullopt;
  file.device = uint64_t{before.stx_dev_major} << 32 | before.stx_dev_minor;
  file.inode = before.stx_ino;
  if (!contents) file.digest = Sha256(file.contents);
  return file;
}

}  // namespace

OwnFile LookAtOwnFile(const std::string& path, bool contents) {
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    struct statx status {};
    if (statx(AT_FDCWD, path.c_str(), 0, STATX_BASIC_STATS, &status) != 0) {
      return AfterError(errno);
    }
    if (S_ISDIR(status.stx_mode)) {
      OwnFile directory;
      directory.kind = OwnFile::Kind::kDirectory;
      directory.device = uint64_t{status.stx_dev_major} << 32 | status.stx_dev_minor;
      directory.inode = status.stx_ino;
      return directory;
    }
    if (!S_ISREG(status.stx_mode)) {
      return Refused(
          "it is no regular file but a FIFO, a device or a socket: copy what it gives into a "
          "regular file");
    }
    if (std::optional<OwnFile> file = ReadRegular(path, contents)) return *std::move(file);
  }
  return Refused("it keeps changing while it is read: build when its writer is done");
}

}  // namespace cccl_cache
