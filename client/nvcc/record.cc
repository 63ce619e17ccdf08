// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// The library libcccl_cache_record.so, which cccl-cache-nvcc preloads into nvcc and thereby into
// all programs that nvcc starts. It records each name of a file that a program looks up, found or
// not, each file that it changes, and each program that it starts. Each function here calls the
// next library's function of the same name and returns what that returned. A function may run
// between vfork() and exec or in a signal handler, so none allocates heap memory or takes a lock:
// a record is an atomic addition and a copy into shared memory. Calls that the C library makes
// internally are not seen, so that functions such as realpath() and system() are here as a whole.
// Like libcccl_cache_exec.so, this library uses no C++ runtime.
#include "client/nvcc/record.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using namespace cccl_cache::nvcc;  // NOLINT: only the exports are outside of this namespace

/// A function of the next library. All are looked up when this library is loaded, because a forked
/// child of a process with several threads must not call the dynamic loader.
struct NextFunction {
  const char* name;
  void* found;
};

RecordHead* head = nullptr;  ///< null: this process records nothing
/// Whether this process is a stand-in of ours, such as cccl-cache-ptxas. It looks up what its key
/// covers, and these look-ups are recorded. It makes its own caches, which are in open directories,
/// and its report is a temporary file; these are not.
bool is_standin = false;

/// Defines the function `name` of the C library. NEXT(name) is the next library's. The assembler
/// name keeps the declarations in the C library's headers, which differ between releases, apart.
#define RECORDED(result, name, ...)                                                             \
  __attribute__((section("next_functions"), used)) NextFunction next_##name = {#name, nullptr}; \
  extern "C" __attribute__((visibility("default")))                                             \
  result recorded_##name(__VA_ARGS__) __asm__(#name);                                           \
  extern "C" __attribute__((visibility("default"))) result recorded_##name(__VA_ARGS__)
#define NEXT(name) Found(&next_##name, &recorded_##name)

template <typename Function>
Function* Found(NextFunction* next, Function*) {
  // Another library's constructor may call before Initialize().
  if (next->found == nullptr) next->found = dlsym(RTLD_NEXT, next->name);
  return reinterpret_cast<Function*>(next->found);
}

/// Further fields of a record. The text of a record is `text`, or `text`, a NUL and `more`.
struct Details {
  const char* more = nullptr;
  FileIdentity identity = {};
};

void PutFrom(int process, RecordKind kind, const char* text, int error, const Details& details) {
  const char* const more = details.more;
  if (head == nullptr || text == nullptr) return;
  const size_t length = std::strlen(text);
  const size_t more_length = more == nullptr ? 0 : std::strlen(more) + 1;
  const uint64_t size = SizeOfRecord(length + more_length);
  const uint64_t at = head->used.fetch_add(size, std::memory_order_relaxed);
  if (length > PATH_MAX || at + size > kRecordBytes - sizeof(RecordHead)) {
    head->lost.store(1, std::memory_order_relaxed);
    return;
  }
  char* const place = reinterpret_cast<char*>(head + 1) + at;
  auto* const record = reinterpret_cast<Record*>(place);
  record->size = static_cast<uint32_t>(length + more_length);
  record->kind = kind;
  record->error = error;
  record->process = process;
  record->identity = details.identity;
  std::memcpy(place + sizeof(Record), text, length);
  if (more != nullptr) {
    place[sizeof(Record) + length] = '\0';
    std::memcpy(place + sizeof(Record) + length + 1, more, more_length - 1);
  }
  record->written.store(1, std::memory_order_release);
}

/// Writes a record of a call by this process.
void Put(RecordKind kind, const char* text, int error, const Details& details = {}) {
  PutFrom(getpid(), kind, text, error, details);
}

/// Returns the identity of an open file.
FileIdentity IdentityOfOpen(int file) {
  struct stat status;
  const int error = errno;
  const bool known = syscall(SYS_fstat, file, &status) == 0;
  errno = error;
  return known ? IdentityOf(status) : FileIdentity{};
}

/// Returns the identity of the file with a name.
FileIdentity IdentityOfNamed(const char* path) {
  struct stat status;
  const int error = errno;
  const bool known = syscall(SYS_newfstatat, AT_FDCWD, path, &status, 0) == 0;
  errno = error;
  return known ? IdentityOf(status) : FileIdentity{};
}

/// Notes a call of a function that is not recorded further, so that the run is not kept.
void Lose(const char* function) { Put(RecordKind::kLost, function, 0); }

/// Returns whether the name is one that is relative to the working directory or absolute. A name in
/// another directory is not recorded.
bool HasPlainName(int directory, const char* path) {
  if (path == nullptr || path[0] == '\0') return false;  // the call fails, or means the descriptor
  // A stand-in asks there who the daemon is, and how reliable the stamps of files are.
  if (is_standin && std::strncmp(path, "/proc/", 6) == 0) return false;
  if (directory == AT_FDCWD || path[0] == '/') return true;
  if (!is_standin) Lose("openat");
  return false;
}

/// Records a look-up with this result. Returns the result.
template <typename Result>
Result Look(const char* path, Result result, bool found, int directory = AT_FDCWD,
            const FileIdentity& identity = {}) {
  const int error = errno;
  if (HasPlainName(directory, path)) {
    Put(RecordKind::kLook, path, found ? 0 : error, {.more = nullptr, .identity = identity});
  }
  errno = error;
  return result;
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

/// Records the look-ups of a search for a file in a list of directories with colons between them,
/// up to the first directory that has it.
void Search(const char* list, const char* name, int access) {
  char path[PATH_MAX];
  const int error = errno;
  for (const char* directory = list; directory != nullptr;) {
    const size_t length = std::strcspn(directory, ":");
    if (length + std::strlen(name) + 2 < sizeof(path)) {
      std::memcpy(path, length == 0 ? "." : directory, length == 0 ? 1 : length);
      path[length == 0 ? 1 : length] = '\0';
      std::strcat(std::strcat(path, "/"), name);
      const bool found = syscall(SYS_faccessat, AT_FDCWD, path, access) == 0;
      Put(RecordKind::kLook, path, found ? 0 : errno);
      if (found) break;
    } else {
      Lose("execvp");
    }
    directory = directory[length] == '\0' ? nullptr : directory + length + 1;
  }
  errno = error;
}

/// Records the look-ups of a search in PATH, as execvp() makes them.
void SearchProgram(const char* name) {
  if (head == nullptr || name == nullptr || name[0] == '\0' || std::strchr(name, '/') != nullptr) {
    return;
  }
  const char* const list = std::getenv("PATH");
  if (list == nullptr) Lose("execvp");  // the C library has a default
  Search(list, name, X_OK);
}

/// Starts a child process by `start`, which is posix_spawn() or a relative, and records that.
template <typename Start>
int Spawn(pid_t* child, const char* path, Start start) {
  pid_t process = 0;
  const int result = start(&process);
  if (result == 0) {
    PutFrom(process, RecordKind::kStart, path, 0, {});
    if (child != nullptr) *child = process;
  } else {
    Put(RecordKind::kLook, path, result);
  }
  return result;
}

/// Records a look-up that the loader makes by itself.
void LookForLoader(const char* path) {
  const int error = errno;
  const bool found = syscall(SYS_faccessat, AT_FDCWD, path, R_OK) == 0;
  Put(RecordKind::kLook, path, found ? 0 : errno, {.identity = IdentityOfNamed(path)});
  errno = error;
}

/// Records each library that is mapped into this process, and where the loader looked for it
/// before.
int RecordLibrary(dl_phdr_info* library, size_t, void*) {
  const char* const path = library->dlpi_name;
  // The program itself has no name, and a part of the kernel has one without a file.
  if (path == nullptr || path[0] == '\0' || std::strncmp(path, "linux-", 6) == 0) return 0;
  Put(RecordKind::kLook, path, 0, {.identity = IdentityOfNamed(path)});
  const char* const slash = std::strrchr(path, '/');
  if (slash != nullptr) Search(std::getenv("LD_LIBRARY_PATH"), slash + 1, F_OK);
  return 0;
}

extern "C" __attribute__((visibility("hidden"))) NextFunction __start_next_functions;
extern "C" __attribute__((visibility("hidden"))) NextFunction __stop_next_functions;

/// Maps the file of the records that the variable names. Returns null if it is another file: the
/// variable may outlive the run in a server, and then the path may lead to a file of another
/// process.
RecordHead* MapRecords(const char* variable) {
  if (variable == nullptr) return nullptr;
  char* path = nullptr;
  const uint64_t token = std::strtoull(variable, &path, 10);
  if (*path != ':') return nullptr;
  const long file =
      syscall(SYS_openat, AT_FDCWD, path + 1, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return nullptr;
  struct stat status;
  void* memory = MAP_FAILED;
  if (syscall(SYS_fstat, file, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 0 &&
      static_cast<uint64_t>(status.st_size) == kRecordBytes) {
    memory =
        mmap(nullptr, kRecordBytes, PROT_READ | PROT_WRITE, MAP_SHARED, static_cast<int>(file), 0);
  }
  syscall(SYS_close, file);
  if (memory == MAP_FAILED) return nullptr;
  auto* const found = static_cast<RecordHead*>(memory);
  if (found->token == token) return found;
  munmap(memory, kRecordBytes);
  return nullptr;
}

__attribute__((constructor)) void Initialize() {
  for (NextFunction* next = &__start_next_functions; next != &__stop_next_functions; ++next) {
    next->found = dlsym(RTLD_NEXT, next->name);
  }
  head = MapRecords(secure_getenv(kRecordVariable));
  if (head == nullptr) return;
  const auto* const program = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  const char* const slash = std::strrchr(program, '/');
  is_standin = std::strncmp(slash == nullptr ? program : slash + 1, "cccl-cache", 10) == 0;
  Put(RecordKind::kBegin, program, 0, {.identity = IdentityOfNamed("/proc/self/exe")});
  LookForLoader("/etc/ld.so.preload");
  LookForLoader("/etc/ld.so.cache");
  dl_iterate_phdr(RecordLibrary, nullptr);
}

/// Also records the libraries that the program has loaded since, such as plug-ins of the linker.
__attribute__((destructor)) void Finish() {
  if (head != nullptr) dl_iterate_phdr(RecordLibrary, nullptr);
}

/// Collects the arguments of a variadic call such as execl(), and calls `start` with them.
/// Afterwards `list` is at the argument behind the null, which for execle() is the environment.
template <typename Start>
int WithWords(const char* first, va_list* list, Start start) {
  size_t count = 1;
  va_list counted;
  va_copy(counted, *list);
  while (first != nullptr && va_arg(counted, char*) != nullptr) ++count;
  va_end(counted);
  auto** words = static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*)));
  words[0] = const_cast<char*>(first);
  for (size_t i = 1; first != nullptr && i <= count; ++i) words[i] = va_arg(*list, char*);
  return start(words);
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
  if (!is_standin) Lose("fdopendir");
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

#define RECORDED_MKSTEMPS(name)                                               \
  RECORDED(int, name, char* path, int number) {                               \
    const int file = NEXT(name)(path, number);                                \
    return is_standin ? file : Open(path, O_CREAT | O_EXCL, file, file >= 0); \
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
  return is_standin ? result : Change(RecordKind::kMake, path, result);
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
  return Change(RecordKind::kRemove, path, NEXT(unlink)(path));
}
RECORDED(int, unlinkat, int directory, const char* path, int flags) {
  return Change(RecordKind::kRemove, path, NEXT(unlinkat)(directory, path, flags), directory);
}
RECORDED(int, remove, const char* path) {
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

// Starting programs.

namespace {

/// Notes a command in which the shell would put in a variable or the output of a program. nvcc does
/// not quote all of its words. The one variable in nvcc's own commands is set by nvcc.
void CheckCommand(const char* command) {
  constexpr char kOwn[] = "$CICC_PATH/";
  while (command != nullptr && (command = std::strpbrk(command, "$`~")) != nullptr) {
    if (std::strncmp(command, kOwn, sizeof(kOwn) - 1) != 0) Lose("a shell");
    ++command;
  }
}

/// Checks the words of a program if it is a shell.
void CheckWords(const char* path, char* const* words) {
  const size_t length = path == nullptr ? 0 : std::strlen(path);
  if (length < 2 || std::strcmp(path + length - 2, "sh") != 0 || words == nullptr) return;
  for (; *words != nullptr; ++words) CheckCommand(*words);
}

/// Records that this process becomes another program, and calls `start`, which returns only if that
/// fails.
template <typename Start>
int Become(const char* path, Start start) {
  Put(RecordKind::kExec, path, 0);
  const int result = start();
  const int error = errno;
  Put(RecordKind::kExecFailed, path, error);
  errno = error;
  return result;
}

}  // namespace

using Words = char* const*;

RECORDED(int, execve, const char* path, Words words, Words variables) {
  CheckWords(path, words);
  return Become(path, [&] { return NEXT(execve)(path, words, variables); });
}
RECORDED(int, execvpe, const char* name, Words words, Words variables) {
  SearchProgram(name);
  CheckWords(name, words);
  return Become(name, [&] { return NEXT(execvpe)(name, words, variables); });
}
RECORDED(int, execv, const char* path, Words words) {
  return recorded_execve(path, words, environ);
}
RECORDED(int, execvp, const char* name, Words words) {
  return recorded_execvpe(name, words, environ);
}
RECORDED(int, execl, const char* path, const char* first, ...) {
  va_list list;
  va_start(list, first);
  return WithWords(first, &list, [&](Words words) { return recorded_execv(path, words); });
}
RECORDED(int, execlp, const char* name, const char* first, ...) {
  va_list list;
  va_start(list, first);
  return WithWords(first, &list, [&](Words words) { return recorded_execvp(name, words); });
}
RECORDED(int, execle, const char* path, const char* first, ...) {
  va_list list;
  va_start(list, first);
  return WithWords(first, &list,
                   [&](Words words) { return recorded_execve(path, words, va_arg(list, Words)); });
}
RECORDED(int, fexecve, int file, Words words, Words variables) {
  Lose("fexecve");
  return NEXT(fexecve)(file, words, variables);
}
RECORDED(int, execveat, int directory, const char* path, Words words, Words variables, int flags) {
  Lose("execveat");
  return NEXT(execveat)(directory, path, words, variables, flags);
}
RECORDED(int, posix_spawn, pid_t* child, const char* path, void* actions, void* attributes,
         Words words, Words variables) {
  CheckWords(path, words);
  return Spawn(child, path, [&](pid_t* process) {
    return NEXT(posix_spawn)(process, path, actions, attributes, words, variables);
  });
}
RECORDED(int, posix_spawnp, pid_t* child, const char* name, void* actions, void* attributes,
         Words words, Words variables) {
  SearchProgram(name);
  CheckWords(name, words);
  return Spawn(child, name, [&](pid_t* process) {
    return NEXT(posix_spawnp)(process, name, actions, attributes, words, variables);
  });
}

// The shell that these two start has the recorder, so that its start is one of those expected.
constexpr char kShell[] = "/bin/sh";
RECORDED(int, system, const char* command) {
  if (command != nullptr) PutFrom(0, RecordKind::kStart, kShell, 0, {});
  CheckCommand(command);
  return NEXT(system)(command);
}
RECORDED(void*, popen, const char* command, const char* mode) {
  void* const stream = NEXT(popen)(command, mode);
  if (stream != nullptr) PutFrom(0, RecordKind::kStart, kShell, 0, {});
  CheckCommand(command);
  return stream;
}
