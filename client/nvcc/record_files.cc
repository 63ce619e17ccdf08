// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// The functions of the C library that look up, read, make or change files, for recorder.h.
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "client/nvcc/recorder.h"

namespace {

using namespace cccl_cache::nvcc;  // NOLINT: only the exports are outside of this namespace

bool EndsWith(const char* text, const char* end) {
  const size_t size = std::strlen(text);
  const size_t part = std::strlen(end);
  return size >= part && std::strcmp(text + size - part, end) == 0;
}

/// Records the contents of a temporary file that will be removed, if the run asked for them.
void KeepText(const char* path) {
  if (!KeepsTexts() || path == nullptr) return;
  if (!EndsWith(path, kPreprocessed) && !EndsWith(path, kModuleId)) return;
  const int error = errno;
  const long file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status;
  if (file >= 0 && syscall(SYS_fstat, file, &status) == 0 && S_ISREG(status.st_mode)) {
    PutContents(path, static_cast<int>(file), static_cast<uint64_t>(status.st_size));
  }
  if (file >= 0) syscall(SYS_close, file);
  errno = error;
}

/// Returns the identity of an open file.
FileIdentity IdentityOfOpen(int file) {
  struct stat status;
  const int error = errno;
  const bool known = syscall(SYS_fstat, file, &status) == 0;
  errno = error;
  return known ? IdentityOf(status) : FileIdentity{};
}

/// Records a change of this kind if the call succeeded, and otherwise a look-up.
int Change(RecordKind kind, const char* path, int result, int directory = AT_FDCWD) {
  if (result != 0) return Look(path, result, false, directory);
  if (HasPlainName(directory, path)) Put(kind, path, 0);
  return result;
}

/// Records a call that returned a status like stat(). The status of a link is no identity of the
/// file behind it.
int LookAt(const char* path, int result, const void* status, int directory = AT_FDCWD) {
  FileIdentity identity = {};
  const auto* const found = static_cast<const struct stat*>(status);
  if (result == 0 && !S_ISLNK(found->st_mode)) identity = IdentityOf(*found);
  return Look(path, result, result == 0, directory, identity);
}

int DescriptorOf(int file) { return file; }
int DescriptorOf(void* stream) {
  return stream == nullptr ? -1 : fileno(static_cast<FILE*>(stream));
}

/// Records a call that opened a file, or tried to. `flags` are those of open().
template <typename Result>
Result Open(const char* path, int flags, Result result, bool opened, int directory = AT_FDCWD) {
  const bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0;
  if (!opened || !writes) {
    const FileIdentity identity = opened ? IdentityOfOpen(DescriptorOf(result)) : FileIdentity{};
    return Look(path, result, opened, directory, identity);
  }
  if ((flags & O_TMPFILE) == O_TMPFILE || !HasPlainName(directory, path)) return result;
  const bool makes = (flags & O_TRUNC) != 0 || (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
  Put(makes ? RecordKind::kMake : RecordKind::kChange, path, 0);
  return result;
}

/// Returns the flags of open() for a mode of fopen().
int FlagsOf(const char* mode) {
  const bool both = std::strchr(mode, '+') != nullptr;
  if (mode[0] == 'w') return O_WRONLY | O_CREAT | O_TRUNC;
  if (mode[0] == 'a') return O_WRONLY | O_CREAT | O_APPEND;
  return both ? O_RDWR : O_RDONLY;
}

/// Records a directory whose names a program will read.
template <typename Result>
Result List(const char* path, Result result, bool opened) {
  if (!opened) return Look(path, result, false);
  if (HasPlainName(AT_FDCWD, path)) {
    Put(RecordKind::kList, path, 0, {.identity = IdentityOfNamed(path)});
  }
  return result;
}

/// Records the answer to a question for the real name behind a name.
void Resolve(const char* path, const char* answer) {
  const int error = errno;
  if (answer == nullptr) {
    // EINVAL of readlink(): the file is there and is no link.
    Look(path, 0, error == EINVAL);
  } else if (HasPlainName(AT_FDCWD, path)) {
    Put(RecordKind::kResolve, path, 0, {.more = answer});
  }
  errno = error;
}

}  // namespace

// Opening files.

#define RECORDED_OPEN(name)                               \
  RECORDED(int, name, const char* path, int flags, ...) { \
    va_list list;                                         \
    va_start(list, flags);                                \
    const unsigned mode = va_arg(list, unsigned);         \
    va_end(list);                                         \
    const int file = NEXT(name)(path, flags, mode);       \
    return Open(path, flags, file, file >= 0);            \
  }
RECORDED_OPEN(open)
RECORDED_OPEN(open64)

#define RECORDED_OPENAT(name)                                            \
  RECORDED(int, name, int directory, const char* path, int flags, ...) { \
    va_list list;                                                        \
    va_start(list, flags);                                               \
    const unsigned mode = va_arg(list, unsigned);                        \
    va_end(list);                                                        \
    const int file = NEXT(name)(directory, path, flags, mode);           \
    return Open(path, flags, file, file >= 0, directory);                \
  }
RECORDED_OPENAT(openat)
RECORDED_OPENAT(openat64)

// Programs that were compiled with _FORTIFY_SOURCE call these in place of open().
#define RECORDED_OPEN_2(name)                        \
  RECORDED(int, name, const char* path, int flags) { \
    const int file = NEXT(name)(path, flags);        \
    return Open(path, flags, file, file >= 0);       \
  }
RECORDED_OPEN_2(__open_2)
RECORDED_OPEN_2(__open64_2)

#define RECORDED_OPENAT_2(name)                                     \
  RECORDED(int, name, int directory, const char* path, int flags) { \
    const int file = NEXT(name)(directory, path, flags);            \
    return Open(path, flags, file, file >= 0, directory);           \
  }
RECORDED_OPENAT_2(__openat_2)
RECORDED_OPENAT_2(__openat64_2)

#define RECORDED_CREAT(name)                                          \
  RECORDED(int, name, const char* path, unsigned mode) {              \
    const int file = NEXT(name)(path, mode);                          \
    return Open(path, O_WRONLY | O_CREAT | O_TRUNC, file, file >= 0); \
  }
RECORDED_CREAT(creat)
RECORDED_CREAT(creat64)

#define RECORDED_FOPEN(name)                                  \
  RECORDED(void*, name, const char* path, const char* mode) { \
    void* const file = NEXT(name)(path, mode);                \
    return Open(path, FlagsOf(mode), file, file != nullptr);  \
  }
RECORDED_FOPEN(fopen)
RECORDED_FOPEN(fopen64)

#define RECORDED_FREOPEN(name)                                              \
  RECORDED(void*, name, const char* path, const char* mode, void* stream) { \
    void* const file = NEXT(name)(path, mode, stream);                      \
    return Open(path, FlagsOf(mode), file, file != nullptr);                \
  }
RECORDED_FREOPEN(freopen)
RECORDED_FREOPEN(freopen64)

RECORDED(void*, opendir, const char* path) {
  void* const directory = NEXT(opendir)(path);
  return List(path, directory, directory != nullptr);
}

#define RECORDED_SCANDIR(name)                                                      \
  RECORDED(int, name, const char* path, void* names, void* filter, void* compare) { \
    const int count = NEXT(name)(path, names, filter, compare);                     \
    return List(path, count, count >= 0);                                           \
  }
RECORDED_SCANDIR(scandir)
RECORDED_SCANDIR(scandir64)

// A search by pattern is not recorded in detail. Programs that nvcc starts make none.
#define RECORDED_GLOB(name)                                                        \
  RECORDED(int, name, const char* pattern, int flags, void* error, void* result) { \
    Lose(#name);                                                                   \
    return NEXT(name)(pattern, flags, error, result);                              \
  }
RECORDED_GLOB(glob)
RECORDED_GLOB(glob64)

// Further ways to read the names in a directory, and to make files. Programs that nvcc starts use
// none of them.
#define LOST(result, name, parameters, arguments) \
  RECORDED(result, name, parameters) {            \
    Lose(#name);                                  \
    return NEXT(name) arguments;                  \
  }
#define P(...) __VA_ARGS__
LOST(ssize_t, getdents64, P(int directory, void* names, size_t size), (directory, names, size))
LOST(int, scandirat, P(int directory, const char* path, void* names, void* filter, void* compare),
     (directory, path, names, filter, compare))
LOST(int, scandirat64, P(int directory, const char* path, void* names, void* filter, void* compare),
     (directory, path, names, filter, compare))
LOST(void*, fts_open, P(char* const* paths, int options, void* compare), (paths, options, compare))
LOST(void*, fts64_open, P(char* const* paths, int options, void* compare),
     (paths, options, compare))
LOST(int, ftw, P(const char* path, void* call, int most), (path, call, most))
LOST(int, ftw64, P(const char* path, void* call, int most), (path, call, most))
LOST(int, nftw, P(const char* path, void* call, int most, int flags), (path, call, most, flags))
LOST(int, nftw64, P(const char* path, void* call, int most, int flags), (path, call, most, flags))
LOST(int, mknod, P(const char* path, unsigned mode, dev_t device), (path, mode, device))
LOST(int, mknodat, P(int directory, const char* path, unsigned mode, dev_t device),
     (directory, path, mode, device))
LOST(int, mkfifoat, P(int directory, const char* path, unsigned mode), (directory, path, mode))
LOST(int, mkdirat, P(int directory, const char* path, unsigned mode), (directory, path, mode))
LOST(int, symlinkat, P(const char* target, int directory, const char* path),
     (target, directory, path))

RECORDED(void*, fdopendir, int directory) {
  if (!IsStandIn()) Lose("fdopendir");
  return NEXT(fdopendir)(directory);
}

// Asking for the status of files.

#define RECORDED_STAT(name)                             \
  RECORDED(int, name, const char* path, void* status) { \
    const int result = NEXT(name)(path, status);        \
    return LookAt(path, result, status);                \
  }
RECORDED_STAT(stat)
RECORDED_STAT(stat64)
RECORDED_STAT(lstat)
RECORDED_STAT(lstat64)

// Programs that were compiled with glibc before 2.33 call these in place of stat().
#define RECORDED_XSTAT(name)                                         \
  RECORDED(int, name, int version, const char* path, void* status) { \
    const int result = NEXT(name)(version, path, status);            \
    return LookAt(path, result, status);                             \
  }
RECORDED_XSTAT(__xstat)
RECORDED_XSTAT(__xstat64)
RECORDED_XSTAT(__lxstat)
RECORDED_XSTAT(__lxstat64)

#define RECORDED_FSTATAT(name)                                                    \
  RECORDED(int, name, int directory, const char* path, void* status, int flags) { \
    const int result = NEXT(name)(directory, path, status, flags);                \
    return LookAt(path, result, status, directory);                               \
  }
RECORDED_FSTATAT(fstatat)
RECORDED_FSTATAT(fstatat64)

#define RECORDED_FXSTATAT(name)                                                                \
  RECORDED(int, name, int version, int directory, const char* path, void* status, int flags) { \
    const int result = NEXT(name)(version, directory, path, status, flags);                    \
    return LookAt(path, result, status, directory);                                            \
  }
RECORDED_FXSTATAT(__fxstatat)
RECORDED_FXSTATAT(__fxstatat64)

RECORDED(int, statx, int directory, const char* path, int flags, unsigned mask, void* status) {
  const int result = NEXT(statx)(directory, path, flags, mask, status);
  FileIdentity identity = {};
  const auto* const found = static_cast<const struct statx*>(status);
  constexpr unsigned kNeeded = STATX_TYPE | STATX_INO | STATX_CTIME;
  if (result == 0 && (found->stx_mask & kNeeded) != kNeeded) Lose("statx");
  if (result == 0 && !S_ISLNK(found->stx_mode)) {
    struct stat shown = {};
    shown.st_dev = makedev(found->stx_dev_major, found->stx_dev_minor);
    shown.st_ino = found->stx_ino;
    shown.st_mode = found->stx_mode;
    shown.st_ctim = {found->stx_ctime.tv_sec, found->stx_ctime.tv_nsec};
    identity = IdentityOf(shown);
  }
  return Look(path, result, result == 0, directory, identity);
}

#define RECORDED_ACCESS(name)                       \
  RECORDED(int, name, const char* path, int mode) { \
    const int result = NEXT(name)(path, mode);      \
    return Look(path, result, result == 0);         \
  }
RECORDED_ACCESS(access)
RECORDED_ACCESS(eaccess)
RECORDED_ACCESS(euidaccess)

RECORDED(int, faccessat, int directory, const char* path, int mode, int flags) {
  const int result = NEXT(faccessat)(directory, path, mode, flags);
  return Look(path, result, result == 0, directory);
}

RECORDED(ssize_t, readlink, const char* path, char* answer, size_t size) {
  const ssize_t length = NEXT(readlink)(path, answer, size);
  char whole[PATH_MAX];
  if (length >= ssize_t(sizeof(whole))) Lose("readlink");
  const bool fits = length >= 0 && length < ssize_t(sizeof(whole));
  if (fits) {
    std::memcpy(whole, answer, static_cast<size_t>(length));
    whole[length] = '\0';
  }
  Resolve(path, fits ? whole : nullptr);
  return length;
}

RECORDED(ssize_t, readlinkat, int directory, const char* path, char* answer, size_t size) {
  Lose("readlinkat");
  return NEXT(readlinkat)(directory, path, answer, size);
}

RECORDED(char*, realpath, const char* path, char* answer) {
  char* const real = NEXT(realpath)(path, answer);
  Resolve(path, real);
  return real;
}

RECORDED(char*, __realpath_chk, const char* path, char* answer, size_t size) {
  char* const real = NEXT(__realpath_chk)(path, answer, size);
  Resolve(path, real);
  return real;
}

RECORDED(char*, canonicalize_file_name, const char* path) {
  char* const real = NEXT(canonicalize_file_name)(path);
  Resolve(path, real);
  return real;
}

// Names are recorded relative to one working directory.

RECORDED(int, chdir, const char* path) {
  Lose("chdir");
  return NEXT(chdir)(path);
}

RECORDED(int, fchdir, int directory) {
  Lose("fchdir");
  return NEXT(fchdir)(directory);
}

// Changing files.

#define RECORDED_MKSTEMP(name)                            \
  RECORDED(int, name, char* path) {                       \
    const int file = NEXT(name)(path);                    \
    return Open(path, O_CREAT | O_EXCL, file, file >= 0); \
  }
RECORDED_MKSTEMP(mkstemp)
RECORDED_MKSTEMP(mkstemp64)

#define RECORDED_MKSTEMPS(name)                                                \
  RECORDED(int, name, char* path, int number) {                                \
    const int file = NEXT(name)(path, number);                                 \
    return IsStandIn() ? file : Open(path, O_CREAT | O_EXCL, file, file >= 0); \
  }
RECORDED_MKSTEMPS(mkstemps)
RECORDED_MKSTEMPS(mkstemps64)
RECORDED_MKSTEMPS(mkostemp)
RECORDED_MKSTEMPS(mkostemp64)

RECORDED(char*, mkdtemp, char* path) {
  char* const made = NEXT(mkdtemp)(path);
  Change(RecordKind::kMake, path, made == nullptr ? -1 : 0);
  return made;
}

RECORDED(int, mkdir, const char* path, unsigned mode) {
  const int result = NEXT(mkdir)(path, mode);
  return IsStandIn() ? result : Change(RecordKind::kMake, path, result);
}
RECORDED(int, mkfifo, const char* path, unsigned mode) {
  return Change(RecordKind::kMake, path, NEXT(mkfifo)(path, mode));
}
RECORDED(int, truncate, const char* path, off_t size) {
  return Change(RecordKind::kChange, path, NEXT(truncate)(path, size));
}
RECORDED(int, truncate64, const char* path, off_t size) {
  return Change(RecordKind::kChange, path, NEXT(truncate64)(path, size));
}
RECORDED(int, chmod, const char* path, unsigned mode) {
  return Change(RecordKind::kChange, path, NEXT(chmod)(path, mode));
}
RECORDED(int, fchmodat, int directory, const char* path, unsigned mode, int flags) {
  return Change(RecordKind::kChange, path, NEXT(fchmodat)(directory, path, mode, flags), directory);
}
RECORDED(int, utime, const char* path, const void* times) {
  return Change(RecordKind::kChange, path, NEXT(utime)(path, times));
}
RECORDED(int, utimes, const char* path, const void* times) {
  return Change(RecordKind::kChange, path, NEXT(utimes)(path, times));
}
RECORDED(int, utimensat, int directory, const char* path, const void* times, int flags) {
  return Change(RecordKind::kChange, path, NEXT(utimensat)(directory, path, times, flags),
                directory);
}
RECORDED(int, rmdir, const char* path) {
  return Change(RecordKind::kRemove, path, NEXT(rmdir)(path));
}
RECORDED(int, unlink, const char* path) {
  KeepText(path);
  return Change(RecordKind::kRemove, path, NEXT(unlink)(path));
}
RECORDED(int, unlinkat, int directory, const char* path, int flags) {
  return Change(RecordKind::kRemove, path, NEXT(unlinkat)(directory, path, flags), directory);
}
RECORDED(int, remove, const char* path) {
  KeepText(path);
  return Change(RecordKind::kRemove, path, NEXT(remove)(path));
}
RECORDED(int, rename, const char* from, const char* to) {
  const int result = NEXT(rename)(from, to);
  Change(RecordKind::kRemove, from, result);
  return Change(RecordKind::kMake, to, result);
}
RECORDED(int, renameat, int from_directory, const char* from, int directory, const char* to) {
  const int result = NEXT(renameat)(from_directory, from, directory, to);
  Change(RecordKind::kRemove, from, result, from_directory);
  return Change(RecordKind::kMake, to, result, directory);
}
RECORDED(int, renameat2, int from_directory, const char* from, int directory, const char* to,
         unsigned flags) {
  const int result = NEXT(renameat2)(from_directory, from, directory, to, flags);
  Change(RecordKind::kRemove, from, result, from_directory);
  return Change(RecordKind::kMake, to, result, directory);
}
RECORDED(int, link, const char* from, const char* to) {
  const int result = NEXT(link)(from, to);
  Change(RecordKind::kChange, from, result);  // its contents now have two names
  return Change(RecordKind::kMake, to, result);
}
RECORDED(int, linkat, int from_directory, const char* from, int directory, const char* to,
         int flags) {
  Lose("linkat");
  return NEXT(linkat)(from_directory, from, directory, to, flags);
}
RECORDED(int, symlink, const char* target, const char* path) {
  return Change(RecordKind::kMake, path, NEXT(symlink)(target, path));
}
