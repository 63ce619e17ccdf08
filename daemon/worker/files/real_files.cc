// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/files/real_files.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

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
