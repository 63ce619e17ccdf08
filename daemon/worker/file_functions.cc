// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/file_functions.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <variant>

#include "daemon/worker/files/memory_files.h"
#include "daemon/worker/files/real_files.h"

// This executable defines and exports (file_functions.list) the file functions of the C library
// that CUDA's compilers call. The dynamic linker searches the executable first, so that libraries
// that are loaded later call the functions below. NVRTC and nvJitLink 12 and 13, and libNVVM 4,
// import: fopen, fopen64, open, __xstat, __lxstat, access, opendir, readlink, realpath, getcwd,
// statfs, unlink, remove, mkdir, rmdir, chdir, dlopen, mmap. The other functions below have the
// names that glibc 2.33 and later use for the same calls. On failure each function returns what
// POSIX requires (-1 or null) and sets errno.

namespace cccl_cache::daemon {
namespace {

FileView* current_view = nullptr;

/// A directory that a compiler reads during a job. The directory functions of the C library can't
/// be used, because they call stat with a name, which the sandbox forbids.
class JobDirectory {
 public:
  /// `fd`: becomes owned. If it is invalid, the directory is empty.
  explicit JobDirectory(int fd) : fd_(fd) {}

  /// Returns the next entry, or null at the end.
  dirent64* Next() {
    if (at_ == end_) {
      const long got = fd_.valid() ? syscall(SYS_getdents64, fd_.get(), entries_, kBytes) : 0;
      at_ = 0;
      end_ = got > 0 ? static_cast<size_t>(got) : 0;
      if (end_ == 0) return nullptr;
    }
    auto* const entry = reinterpret_cast<dirent64*>(entries_ + at_);
    at_ += entry->d_reclen;
    return entry;
  }

 private:
  static constexpr size_t kBytes = 32 * 1024;

  const FileDescriptor fd_;
  size_t at_ = 0;
  size_t end_ = 0;
  alignas(dirent64) char entries_[kBytes];
};

static_assert(sizeof(dirent) == sizeof(dirent64));

/// Returns the JobDirectory to which a DIR pointer really points. opendir returns such pointers
/// during a job only; a compiler does not look into a DIR.
JobDirectory* Mine(DIR* directory) { return reinterpret_cast<JobDirectory*>(directory); }

int Answer(int answer) {
  if (answer >= 0) return answer;
  errno = -answer;
  return -1;
}

int OpenFile(const char* name, int flags, mode_t mode) {
  return Answer(current_view != nullptr ? current_view->Open(name, flags)
                                        : real_files::Open(name, flags, mode));
}

int StatFile(const char* name, struct stat* status, bool follow) {
  if (current_view != nullptr) return Answer(current_view->Stat(name, status));
  return Answer(real_files::StatAt(AT_FDCWD, name, status, follow ? 0 : AT_SYMLINK_NOFOLLOW));
}

/// Returns the flags of open(2) for a mode of fopen(3). -1: the mode is invalid.
int FlagsOf(const char* mode) {
  const bool update = strchr(mode, '+') != nullptr;
  const int access = update ? O_RDWR : O_WRONLY;
  switch (mode[0]) {
    case 'r':
      return update ? O_RDWR : O_RDONLY;
    case 'w':
      return access | O_CREAT | O_TRUNC;
    case 'a':
      return access | O_CREAT | O_APPEND;
    default:
      return -1;
  }
}

FILE* OpenStream(const char* name, const char* mode) {
  const int flags = FlagsOf(mode);
  if (flags < 0) {
    errno = EINVAL;
    return nullptr;
  }
  if (current_view == nullptr) {
    const int fd = Answer(real_files::Open(name, flags | O_CLOEXEC, 0666));
    return fd < 0 ? nullptr : fdopen(fd, mode);
  }
  const FileView::Opened opened = current_view->OpenAny(name, flags);
  if (const auto* pinned = std::get_if<FileAnswer>(&opened)) {
    return OpenPinnedStream(pinned->contents);
  }
  const int fd = Answer(*std::get_if<int>(&opened));
  return fd < 0 ? nullptr : fdopen(fd, mode);
}

/// Returns whether a name is absolute or relative to the working directory. No compiler passes the
/// descriptor of another directory.
bool FromWorkingDirectory(int directory, const char* name) {
  return directory == AT_FDCWD || name[0] == '/';
}

/// Returns whether a job runs; if so, sets errno to EACCES. Called by functions that change
/// directories, which a job must not do.
bool RefuseInJob() {
  if (current_view != nullptr) errno = EACCES;
  return current_view != nullptr;
}

/// Returns the path as realpath(3) does: in `buffer`, or if `buffer` is null, in memory that the
/// caller frees. An empty path fails with ENOENT.
char* ResolvedInto(const std::string& path, char* buffer) {
  if (path.empty() || path.size() >= PATH_MAX) {
    errno = ENOENT;
    return nullptr;
  }
  if (buffer == nullptr) return strdup(path.c_str());
  return strcpy(buffer, path.c_str());
}

std::string RealPathOf(const char* name) {
  if (current_view != nullptr) {
    struct stat status;
    return current_view->Stat(name, &status) == 0 ? current_view->VisiblePath(name) : "";
  }
  const FileDescriptor file(real_files::Open(name, O_PATH | O_CLOEXEC, 0));
  return file.valid() ? real_files::PathOf(file.get()) : "";
}

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

void UseFileView(FileView* view) { current_view = view; }

}  // namespace cccl_cache::daemon

using namespace cccl_cache::daemon;  // NOLINT: the functions below belong to no namespace

extern "C" {

FILE* fopen(const char* name, const char* mode) { return OpenStream(name, mode); }
FILE* fopen64(const char* name, const char* mode) { return OpenStream(name, mode); }

int open(const char* name, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return OpenFile(name, flags, mode);
}

int open64(const char* name, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return OpenFile(name, flags, mode);
}

int openat(int directory, const char* name, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (FromWorkingDirectory(directory, name)) return OpenFile(name, flags, mode);
  if (RefuseInJob()) return -1;
  return Answer(real_files::OpenAt(directory, name, flags, mode));
}

int stat(const char* name, struct stat* status) noexcept { return StatFile(name, status, true); }
int lstat(const char* name, struct stat* status) noexcept { return StatFile(name, status, false); }
int stat64(const char* name, struct stat64* status) noexcept {
  return StatFile(name, reinterpret_cast<struct stat*>(status), true);
}
int lstat64(const char* name, struct stat64* status) noexcept {
  return StatFile(name, reinterpret_cast<struct stat*>(status), false);
}
int fstat(int fd, struct stat* status) noexcept { return Answer(real_files::Stat(fd, status)); }
int fstat64(int fd, struct stat64* status) noexcept {
  return fstat(fd, reinterpret_cast<struct stat*>(status));
}
int __fxstat(int, int fd, struct stat* status) { return fstat(fd, status); }
int __fxstat64(int, int fd, struct stat* status) { return fstat(fd, status); }
int __xstat(int, const char* name, struct stat* status) { return StatFile(name, status, true); }
int __lxstat(int, const char* name, struct stat* status) { return StatFile(name, status, false); }
int __xstat64(int, const char* name, struct stat* status) { return StatFile(name, status, true); }
int __lxstat64(int, const char* name, struct stat* status) { return StatFile(name, status, false); }

int fstatat(int directory, const char* name, struct stat* status, int flags) noexcept {
  if (name[0] == '\0' && (flags & AT_EMPTY_PATH) != 0) return fstat(directory, status);
  if (FromWorkingDirectory(directory, name)) {
    return StatFile(name, status, (flags & AT_SYMLINK_NOFOLLOW) == 0);
  }
  if (RefuseInJob()) return -1;
  return Answer(real_files::StatAt(directory, name, status, flags));
}

int access(const char* name, int mode) noexcept {
  if (current_view == nullptr) return Answer(real_files::Access(name, mode));
  struct stat status;
  if (StatFile(name, &status, true) != 0) return -1;
  return (mode & W_OK) != 0 ? Answer(-EACCES) : 0;
}

int statfs(const char* name, struct statfs* status) noexcept {
  if (current_view != nullptr) return Answer(-ENOENT);
  return static_cast<int>(syscall(SYS_statfs, name, status));
}

ssize_t readlink(const char* name, char* buffer, size_t size) noexcept {
  if (current_view == nullptr) return Answer(real_files::ReadLink(name, buffer, size));
  struct stat status;
  return StatFile(name, &status, true) != 0 ? -1 : Answer(-EINVAL);
}

char* realpath(const char* name, char* buffer) noexcept {
  return ResolvedInto(RealPathOf(name), buffer);
}

char* getcwd(char* buffer, size_t size) noexcept {
  std::string path;
  if (current_view != nullptr) {
    path = current_view->working_directory();
  } else {
    char real_path[PATH_MAX];
    if (syscall(SYS_getcwd, real_path, sizeof(real_path)) < 0) return nullptr;
    path = real_path;
  }
  if (buffer == nullptr) {
    if (size == 0) return strdup(path.c_str());
    buffer = static_cast<char*>(malloc(std::max(size, path.size() + 1)));
    return buffer == nullptr ? nullptr : strcpy(buffer, path.c_str());
  }
  if (path.size() < size) return strcpy(buffer, path.c_str());
  errno = ERANGE;
  return nullptr;
}

DIR* opendir(const char* name) {
  // During a job, opendir never returns null, because NVRTC crashes on null.
  if (current_view != nullptr) {
    return reinterpret_cast<DIR*>(new JobDirectory(current_view->OpenDirectory(name)));
  }
  const int fd = Answer(real_files::Open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0));
  return fd < 0 ? nullptr : fdopendir(fd);
}

struct dirent* readdir(DIR* directory) {
  if (current_view == nullptr) return Next<struct dirent*(DIR*)>("readdir")(directory);
  return reinterpret_cast<struct dirent*>(Mine(directory)->Next());
}

struct dirent64* readdir64(DIR* directory) {
  if (current_view == nullptr) return Next<struct dirent64*(DIR*)>("readdir64")(directory);
  return Mine(directory)->Next();
}

int closedir(DIR* directory) {
  if (current_view == nullptr) return Next<int(DIR*)>("closedir")(directory);
  delete Mine(directory);
  return 0;
}

int unlink(const char* name) noexcept {
  if (current_view != nullptr) return Answer(current_view->Remove(name));
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, name, 0));
}

int remove(const char* name) noexcept {
  const int removed = unlink(name);
  return removed != 0 && errno == EISDIR ? rmdir(name) : removed;
}

int mkdir(const char* name, mode_t mode) noexcept {
  if (RefuseInJob()) return -1;
  return static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, name, mode));
}

int rmdir(const char* name) noexcept {
  if (RefuseInJob()) return -1;
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, name, AT_REMOVEDIR));
}

int chdir(const char* name) noexcept {
  if (RefuseInJob()) return -1;
  return static_cast<int>(syscall(SYS_chdir, name));
}

void* mmap(void* address, size_t length, int protection, int flags, int fd, off_t offset) noexcept {
  void* const memory = current_view != nullptr && fd >= 0
                           ? current_view->Map(address, length, protection, flags, fd, offset)
                           : real_files::Map(address, length, protection, flags, fd, offset);
  if (memory == MAP_FAILED && errno == ENOMEM) RefusedMemory::Note();
  return memory;
}
void* mmap64(void* address, size_t length, int protection, int flags, int fd,
             off64_t offset) noexcept {
  return mmap(address, length, protection, flags, fd, offset);
}

/// Finds only libraries that SharedLibrary has loaded, and loads no others. NVRTC would otherwise
/// load the driver to find its own cache.
void* dlopen(const char* name, int flags) noexcept {
  return dlmopen(LM_ID_BASE, name, name == nullptr ? flags : flags | RTLD_NOLOAD);
}

}  // extern "C"
