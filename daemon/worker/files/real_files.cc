// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/files/real_files.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace cccl_cache::daemon::real_files {
namespace {

template <typename... Arguments>
long Call(long number, Arguments... arguments) {
  const long answer = syscall(number, arguments...);
  return answer < 0 ? -errno : answer;
}

std::string SelfPath(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

}  // namespace

int Open(const char* path, int flags, mode_t mode) { return OpenAt(AT_FDCWD, path, flags, mode); }

int OpenAt(int directory, const char* path, int flags, mode_t mode) {
  return static_cast<int>(Call(SYS_openat, directory, path, flags, mode));
}

int StatAt(int directory, const char* path, struct stat* status, int flags) {
  return static_cast<int>(Call(SYS_newfstatat, directory, path, status, flags));
}

int Stat(int fd, struct stat* status) { return static_cast<int>(Call(SYS_fstat, fd, status)); }

int Access(const char* path, int mode) {
  return static_cast<int>(Call(SYS_faccessat, AT_FDCWD, path, mode));
}

ssize_t ReadLink(const char* path, char* buffer, size_t size) {
  return Call(SYS_readlinkat, AT_FDCWD, path, buffer, size);
}

std::string PathOf(int fd) {
  char path[PATH_MAX];
  const ssize_t length = ReadLink(SelfPath(fd).c_str(), path, sizeof(path));
  if (length <= 0 || static_cast<size_t>(length) == sizeof(path) || path[0] != '/') return "";
  return {path, static_cast<size_t>(length)};
}

void* Map(void* address, size_t length, int protection, int flags, int fd, off_t offset) {
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, length, protection, flags, fd, offset));
}

}  // namespace cccl_cache::daemon::real_files

namespace cccl_cache::daemon {
namespace {

struct Reader {
  std::shared_ptr<const std::string> contents;
  size_t position = 0;  ///< in bytes; may be greater than the size
};

ssize_t Read(void* cookie, char* buffer, size_t size) {
  Reader& reader = *static_cast<Reader*>(cookie);
  if (reader.contents == nullptr) {
    errno = EISDIR;
    return -1;
  }
  const size_t from = std::min(reader.position, reader.contents->size());
  const size_t count = std::min(size, reader.contents->size() - from);
  memcpy(buffer, reader.contents->data() + from, count);
  reader.position = from + count;
  return static_cast<ssize_t>(count);
}

int Seek(void* cookie, off64_t* offset, int whence) {
  Reader& reader = *static_cast<Reader*>(cookie);
  const size_t size = reader.contents == nullptr ? 0 : reader.contents->size();
  off64_t from = 0;
  if (whence == SEEK_CUR) from = static_cast<off64_t>(reader.position);
  if (whence == SEEK_END) from = static_cast<off64_t>(size);
  if (*offset < -from || *offset > INT64_MAX - from) {
    errno = EINVAL;
    return -1;
  }
  *offset += from;
  reader.position = static_cast<size_t>(*offset);
  return 0;
}

int Close(void* cookie) {
  delete static_cast<Reader*>(cookie);
  return 0;
}

}  // namespace

FILE* OpenPinnedStream(std::shared_ptr<const std::string> contents) {
  auto reader = std::make_unique<Reader>(Reader{std::move(contents)});
  FILE* stream = fopencookie(reader.get(), "r",
                             {.read = Read, .write = nullptr, .seek = Seek, .close = Close});
  if (stream == nullptr) return nullptr;
  static_cast<void>(reader.release());  // Close() deletes it
  return stream;
}

}  // namespace cccl_cache::daemon
