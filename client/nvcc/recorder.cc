// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/nvcc/recorder.h"

#include <limits.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cccl_cache::nvcc {
namespace {

RecordHead* head = nullptr;  ///< null: this process records nothing
bool is_standin = false;

/// Records a look-up that the loader makes by itself.
void LookForLoader(const char* path) {
  const int error = errno;
  const bool found = syscall(SYS_faccessat, AT_FDCWD, path, R_OK) == 0;
  Put(RecordKind::kLook, path, found ? 0 : errno, {.identity = IdentityOfNamed(path)});
  errno = error;
}

/// Returns whether the file DIRECTORY/NAME is there, and records that.
bool IsThere(const char* directory, const char* name) {
  char path[PATH_MAX];
  if (std::snprintf(path, sizeof(path), "%s/%s", directory, name) >= int{sizeof(path)}) {
    Lose("dlopen");
    return false;
  }
  const bool found = syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
  Put(RecordKind::kLook, path, found ? 0 : errno);
  return found;
}

/// Records that the loader looks for a library in a directory, and first in those below it that are
/// for some processors. Returns whether the directory has the library.
bool SearchDirectory(const char* directory, const char* name) {
#if defined(__aarch64__)
  constexpr const char* kAbove[] = {"tls", "aarch64", "atomics"};
  constexpr const char* kFirst[] = {"tls/aarch64/atomics", "tls/aarch64", "tls/atomics", "tls",
                                    "aarch64/atomics",     "aarch64",     "atomics"};
#else
  constexpr const char* kAbove[] = {"glibc-hwcaps", "tls", "x86_64"};
  constexpr const char* kFirst[] = {"glibc-hwcaps/x86-64-v4",
                                    "glibc-hwcaps/x86-64-v3",
                                    "glibc-hwcaps/x86-64-v2",
                                    "tls/x86_64/x86_64",
                                    "tls/x86_64",
                                    "tls",
                                    "x86_64/x86_64",
                                    "x86_64"};
#endif
  char path[PATH_MAX];
  for (const char* above : kAbove) {
    if (!IsThere(directory, above)) continue;
    for (const char* first : kFirst) {
      if (std::strncmp(first, above, std::strlen(above)) != 0) continue;
      if (std::snprintf(path, sizeof(path), "%s/%s", first, name) >= int{sizeof(path)}) continue;
      IsThere(directory, path);
    }
  }
  return IsThere(directory, name);
}

/// Records where the loader looked for the libraries that this one needs. `opened` is from
/// dlopen().
void RecordNeeded(void* opened) {
  link_map* library = nullptr;
  Dl_serinfo size;
  if (dlinfo(opened, RTLD_DI_LINKMAP, &library) != 0 ||
      dlinfo(opened, RTLD_DI_SERINFOSIZE, &size) != 0) {
    return Lose("dlinfo");
  }
  auto* const places = static_cast<Dl_serinfo*>(__builtin_alloca(size.dls_size));
  *places = size;
  if (dlinfo(opened, RTLD_DI_SERINFO, places) != 0) return Lose("dlinfo");
  const char* names = nullptr;
  for (const ElfW(Dyn)* entry = library->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
  }
  for (const ElfW(Dyn)* entry = library->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag != DT_NEEDED || names == nullptr) continue;
    const char* const name = names + entry->d_un.d_val;
    if (std::strchr(name, '/') != nullptr) continue;
    for (unsigned i = 0; i < places->dls_cnt; ++i) {
      if (SearchDirectory(places->dls_serpath[i].dls_name, name)) break;
    }
  }
}

/// The names of the libraries that are mapped into this process, with a NUL behind each.
struct LibraryNames {
  size_t used;
  bool complete;
  char text[size_t{64} << 10];
};
LibraryNames mapped;  ///< not on the stack, which may be that of a thread with a small one

/// Adds a library's name. Called with the loader's lock, with which dlinfo() must not be called.
int AddName(dl_phdr_info* library, size_t /*size*/, void* /*data*/) {
  const size_t size = std::strlen(library->dlpi_name) + 1;
  mapped.complete = mapped.complete && size <= sizeof(mapped.text) - mapped.used;
  if (!mapped.complete) return 1;
  std::memcpy(mapped.text + mapped.used, library->dlpi_name, size);
  mapped.used += size;
  return 0;
}

/// Records each library that is mapped into this process, and where the loader looked for it
/// before. Other threads may load and unload libraries meanwhile.
void RecordLibraries() {
  const int error = errno;
  mapped.used = 0;
  mapped.complete = true;
  dl_iterate_phdr(AddName, nullptr);
  if (!mapped.complete) Lose("dlopen");
  const char* const end = mapped.text + mapped.used;
  for (const char* path = mapped.text; path != end; path += std::strlen(path) + 1) {
    // A part of the kernel has a name without a file.
    if (std::strncmp(path, "linux-", 6) == 0) continue;
    const bool is_program = path[0] == '\0';
    if (!is_program) Put(RecordKind::kLook, path, 0, {.identity = IdentityOfNamed(path)});
    // The library stays until dlclose().
    void* const opened = dlopen(is_program ? nullptr : path, RTLD_LAZY | RTLD_NOLOAD);
    if (opened == nullptr) {
      Lose("dlclose");  // another thread has unloaded it
      continue;
    }
    RecordNeeded(opened);
    dlclose(opened);
  }
  errno = error;
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
  RecordLibraries();
}

/// Also records the libraries that the program has loaded since, such as plug-ins of the linker.
__attribute__((destructor)) void Finish() {
  if (head != nullptr) RecordLibraries();
}

/// Returns where a record with a text of this length begins. Null if there is no space.
char* Reserve(uint64_t length) {
  const uint64_t at = head->used.fetch_add(SizeOfRecord(length), std::memory_order_relaxed);
  const bool fits = at + SizeOfRecord(length) <= kRecordBytes - sizeof(RecordHead);
  return fits ? reinterpret_cast<char*>(head + 1) + at : nullptr;
}

}  // namespace

bool IsRecorded() { return head != nullptr; }

bool IsStandIn() { return is_standin; }

bool KeepsTexts() { return head != nullptr && head->keeps_texts != 0; }

void PutFrom(int process, RecordKind kind, const char* text, int error, const Details& details) {
  const char* const more = details.more;
  if (head == nullptr || text == nullptr) return;
  const size_t length = std::strlen(text);
  const size_t more_length = more == nullptr ? 0 : std::strlen(more) + 1;
  char* const place = length > PATH_MAX ? nullptr : Reserve(length + more_length);
  if (place == nullptr) {
    head->lost.store(1, std::memory_order_relaxed);
    return;
  }
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

void PutContents(const char* path, int file, uint64_t size) {
  const size_t length = std::strlen(path) + 1;
  char* const place = size < kRecordBytes ? Reserve(length + size) : nullptr;
  if (place == nullptr) {
    head->lost.store(1, std::memory_order_relaxed);
    return;
  }
  auto* const record = reinterpret_cast<Record*>(place);
  record->size = static_cast<uint32_t>(length + size);
  record->kind = RecordKind::kText;
  record->process = getpid();
  char* const text = place + sizeof(Record);
  std::memcpy(text, path, length);
  const long got = syscall(SYS_pread64, file, text + length, size, 0);
  // Otherwise the record stays incomplete, and the run is not kept.
  if (got == static_cast<long>(size)) record->written.store(1, std::memory_order_release);
}

void Put(RecordKind kind, const char* text, int error, const Details& details) {
  PutFrom(getpid(), kind, text, error, details);
}

FileIdentity IdentityOfNamed(const char* path) {
  struct stat status;
  const int error = errno;
  const bool known = syscall(SYS_newfstatat, AT_FDCWD, path, &status, 0) == 0;
  errno = error;
  return known ? IdentityOf(status) : FileIdentity{};
}

bool HasPlainName(int directory, const char* path) {
  if (path == nullptr || path[0] == '\0') return false;  // the call fails, or means the descriptor
  // A stand-in asks there who the daemon is, and how reliable the stamps of files are.
  if (is_standin && std::strncmp(path, "/proc/", 6) == 0) return false;
  if (directory == AT_FDCWD || path[0] == '/') return true;
  if (!is_standin) Lose("openat");
  return false;
}

}  // namespace cccl_cache::nvcc
