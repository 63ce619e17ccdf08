// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// The library libcccl_cache_exec.so, which is loaded through LD_PRELOAD. It replaces the exec and
// posix_spawn functions. If a program starts ptxas, nvlink, tileiras, cudafe++, cicc or a compile
// of what cudafe++ wrote, the call starts cccl-cache-ptxas instead, and for nvcc cccl-cache-nvcc,
// with the tool's path as an argument. Every other call is forwarded to the next library's function
// of the same name. So is a call for which these can't be started, for example after chroot() or as
// another user. A function here may run between vfork() and exec, so it allocates no heap memory,
// takes no lock, and writes only to its own stack. Like the auditor, this library uses no C++
// runtime.
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "client/interpose/elf_file.h"
#include "client/interpose/exec_words.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

using cccl_cache::interpose::WithWords;

constexpr char kStandIn[] = "cccl-cache-ptxas";
constexpr char kNvccStandIn[] = "cccl-cache-nvcc";
constexpr char kTileiras[] = "tileiras";
constexpr char kNvcc[] = "nvcc";
constexpr const char* kTools[] = {
    "ptxas", "ptxas-blackwell", "nvlink", kTileiras, "cudafe++", "cicc", kNvcc};

char standin[PATH_MAX];       ///< path of cccl-cache-ptxas beside this library; empty if it is not
                              ///< usable
char nvcc_standin[PATH_MAX];  ///< the same of cccl-cache-nvcc

/// The function of the same name in the next loaded library (RTLD_NEXT). It is looked up when this
/// library is loaded, because a forked child of a process with several threads must not call the
/// dynamic loader.
template <typename Function>
class Next {
 public:
  constexpr explicit Next(const char* name) : name_(name) {}
  void Find() { found_ = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name_)); }
  template <typename... Arguments>
  int operator()(Arguments... arguments) {
    if (found_ == nullptr) Find();  // another library's constructor called before Initialize()
    return found_(arguments...);
  }

 private:
  const char* name_;
  Function* found_ = nullptr;
};
using Exec = int(const char*, char* const*, char* const*);
using Spawn = int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                  char* const*, char* const*);
Next<Exec> next_execve("execve");
Next<Exec> next_execvpe("execvpe");
Next<Spawn> next_posix_spawn("posix_spawn");
Next<Spawn> next_posix_spawnp("posix_spawnp");

const char* BaseName(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

bool HasName(const char* path, const char* name) { return std::strcmp(BaseName(path), name) == 0; }

using Path = char[PATH_MAX];

/// Stores the path of a stand-in in this directory, if it is usable.
void FindStandIn(const char* directory, const char* name, Path& found) {
  if (std::strlen(directory) + std::strlen(name) + 2 > sizeof(found)) return;
  Path path;
  std::strcat(std::strcat(std::strcpy(path, directory), "/"), name);
  if (access(path, X_OK) == 0 && cccl_cache::interpose::CLibrarySuffices(path)) {
    std::strcpy(found, path);
  }
}

__attribute__((constructor)) void Initialize() {
  next_execve.Find();
  next_execvpe.Find();
  next_posix_spawn.Find();
  next_posix_spawnp.Find();
  const auto* started = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  // Nothing is redirected in the stand-ins, which must start the real tools, and in tileiras, whose
  // run of ptxas is cached as a part of its own output.
  if (started == nullptr || HasName(started, kStandIn) || HasName(started, kNvccStandIn) ||
      HasName(started, kTileiras)) {
    return;
  }
  Dl_info own = {};
  char path[PATH_MAX];
  if (dladdr(reinterpret_cast<void*>(&Initialize), &own) == 0) return;
  if (realpath(own.dli_fname, path) == nullptr) return;
  *std::strrchr(path, '/') = '\0';
  FindStandIn(path, kStandIn, standin);
  FindStandIn(path, kNvccStandIn, nvcc_standin);
}

/// Returns whether this process may read the pointer. It asks the kernel for an invalid signal mask
/// operation: the kernel reads the mask at the address (EFAULT if unreadable) before it rejects the
/// operation.
bool CanBeRead(char* const* pointer) {
  const uintptr_t mask = reinterpret_cast<uintptr_t>(pointer) / sizeof(uint64_t) * sizeof(uint64_t);
  constexpr int kNoWay = -1;
  // For a null pointer the kernel would read no mask, so null is handled here.
  return mask != 0 && (syscall(SYS_rt_sigprocmask, kNoWay, mask, nullptr, sizeof(uint64_t)) == 0 ||
                       errno != EFAULT);
}

/// Returns whether this process may read the list including the null pointer at its end. Without
/// this library, the kernel would read the list and return EFAULT, where a read here would crash.
bool CanBeReadToItsEnd(char* const* list) {
  constexpr uintptr_t kPage = 4096;
  if (reinterpret_cast<uintptr_t>(list) % sizeof(*list) != 0) return false;
  for (char* const* each = list;; ++each) {
    const bool on_new_page = each == list || reinterpret_cast<uintptr_t>(each) % kPage == 0;
    if (on_new_page && !CanBeRead(each)) return false;
    if (*each == nullptr) return true;
  }
}

/// Returns whether this process may read the text, and it is not too long for a path. The kernel
/// does the check, so nothing behind the text's end is read, which tools such as valgrind would
/// report. The invalid directory -1 makes the kernel look up no relative path.
bool CanBePath(const char* text) {
  constexpr int kNoDirectory = -1;
  return syscall(SYS_faccessat, kNoDirectory, text, F_OK) == 0 ||
         (errno != EFAULT && errno != ENAMETOOLONG);
}

/// Returns the path of the stand-in for a tool; empty if it is not usable.
const char* StandInFor(const char* tool) { return HasName(tool, kNvcc) ? nvcc_standin : standin; }

bool EndsWith(const char* text, const char* end) {
  const size_t length = std::strlen(text);
  return length >= std::strlen(end) && std::strcmp(text + length - std::strlen(end), end) == 0;
}

/// Returns whether the words compile what cudafe++ wrote for the host. A word that is too long for
/// a path is none that matters.
bool CompileHostCode(char* const* words) {
  if (!CanBeReadToItsEnd(words)) return false;
  bool compile = false;
  bool host_code = false;
  for (; *words != nullptr; ++words) {
    if (!CanBePath(*words)) continue;
    compile = compile || std::strcmp(*words, "-c") == 0;
    host_code = host_code || EndsWith(*words, ".cudafe1.cpp");
  }
  return compile && host_code;
}

/// Returns whether the program has the name of a redirected tool, or that of a C++ compiler which
/// compiles what cudafe++ wrote.
bool HasNameOfTool(const char* path, char* const* words) {
  if (standin[0] == '\0' || !CanBePath(path) || StandInFor(path)[0] == '\0') return false;
  const char* const name = BaseName(path);
  for (const char* tool : kTools) {
    if (std::strcmp(name, tool) == 0) return true;
  }
  return (std::strstr(name, "cc") != nullptr || std::strstr(name, "++") != nullptr) &&
         CompileHostCode(words);
}

/// Returns whether the path leads to a regular file that this process may execute.
bool IsExecutable(const char* path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/// Returns whether the file is an ELF program for this machine. Other files, such as a script
/// without an interpreter line, are not redirected: the kernel or a shell handles them. The system
/// calls are made directly, because the C library's open() and pread() are cancellation points.
bool IsProgram(const char* path) {
  const long file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ElfW(Ehdr)& own = __ehdr_start;  // the ELF header of this library
  ElfW(Ehdr) header = {};
  const long size = syscall(SYS_pread64, file, &header, sizeof(header), 0L);
  syscall(SYS_close, file);
  return size == sizeof(header) && std::memcmp(header.e_ident, own.e_ident, EI_VERSION + 1) == 0 &&
         (header.e_type == ET_EXEC || header.e_type == ET_DYN) &&
         header.e_machine == own.e_machine && header.e_phentsize == own.e_phentsize;
}

bool IsTool(const char* path, char* const* words) {
  return HasNameOfTool(path, words) && IsExecutable(path) && IsProgram(path);
}

/// Searches for a program in PATH as execvp() does, and stores its path in `found`. Returns false
/// if there is none or it is not one of the redirected tools.
bool Find(const char* name, char* const* words, Path& found) {
  if (!HasNameOfTool(name, words) || std::strlen(name) >= sizeof(found)) return false;
  if (std::strchr(name, '/') != nullptr) return IsTool(std::strcpy(found, name), words);
  const char* directory = std::getenv("PATH");
  while (directory != nullptr) {
    const size_t length = std::strcspn(directory, ":");
    if (length + std::strlen(name) + 2 < sizeof(found)) {
      std::memcpy(found, length == 0 ? "." : directory, length == 0 ? 1 : length);
      found[length == 0 ? 1 : length] = '\0';
      if (IsExecutable(std::strcat(std::strcat(found, "/"), name))) return IsProgram(found);
    }
    directory = directory[length] == '\0' ? nullptr : directory + length + 1;
  }
  return false;
}

/// Calls `start` with the stand-in's path and arguments, which are "--for", the tool's path and the
/// tool's own arguments. Returns the result of `start`. Returns -1 if the arguments can't be read
/// or are more than kMost: they are copied to the stack, which may be that of a thread with a small
/// one.
template <typename Start>
int StartStandIn(const char* tool, char* const* words, Start start) {
  constexpr size_t kMost = 1024;
  if (!CanBeReadToItsEnd(words) || words[0] == nullptr) return -1;
  size_t count = 0;
  while (words[count] != nullptr) ++count;
  if (count > kMost) return -1;
  auto** all = static_cast<char**>(__builtin_alloca((count + 4) * sizeof(char*)));
  const char* const program = StandInFor(tool);
  all[0] = const_cast<char*>(program);
  all[1] = const_cast<char*>("--for");
  all[2] = const_cast<char*>(tool);
  std::memcpy(all + 3, words, (count + 1) * sizeof(char*));
  return start(program, all);
}

/// Replaces this process by the stand-in. Returns only if the stand-in can't be started.
void ReplaceByStandIn(const char* tool, char* const* words, char* const* variables) {
  StartStandIn(tool, words, [&](const char* program, char* const* all) {
    return next_execve(program, all, variables);
  });
}

/// Starts the stand-in in a child process. Returns whether that succeeded.
bool SpawnStandIn(pid_t* child, const char* tool, const posix_spawn_file_actions_t* actions,
                  const posix_spawnattr_t* attributes, char* const* words, char* const* variables) {
  return StartStandIn(tool, words, [&](const char* program, char* const* all) {
           return next_posix_spawn(child, program, actions, attributes, all, variables);
         }) == 0;
}

}  // namespace

EXPORTED int execve(const char* path, char* const* words, char* const* variables) noexcept {
  if (IsTool(path, words)) ReplaceByStandIn(path, words, variables);
  return next_execve(path, words, variables);
}

EXPORTED int execv(const char* path, char* const* words) noexcept {
  return execve(path, words, environ);
}

EXPORTED int execvpe(const char* name, char* const* words, char* const* variables) noexcept {
  Path tool;
  if (Find(name, words, tool)) ReplaceByStandIn(tool, words, variables);
  return next_execvpe(name, words, variables);
}

EXPORTED int execvp(const char* name, char* const* words) noexcept {
  return execvpe(name, words, environ);
}

EXPORTED int execl(const char* path, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  return WithWords(first, &list, [&](char** words) { return execve(path, words, environ); });
}

EXPORTED int execlp(const char* name, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  return WithWords(first, &list, [&](char** words) { return execvpe(name, words, environ); });
}

EXPORTED int execle(const char* path, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  return WithWords(first, &list,
                   [&](char** words) { return execve(path, words, va_arg(list, char* const*)); });
}

EXPORTED int posix_spawn(pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
                         const posix_spawnattr_t* attributes, char* const* words,
                         char* const* variables) {
  if (IsTool(path, words) && SpawnStandIn(child, path, actions, attributes, words, variables))
    return 0;
  return next_posix_spawn(child, path, actions, attributes, words, variables);
}

EXPORTED int posix_spawnp(pid_t* child, const char* name, const posix_spawn_file_actions_t* actions,
                          const posix_spawnattr_t* attributes, char* const* words,
                          char* const* variables) {
  Path tool;
  if (Find(name, words, tool) && SpawnStandIn(child, tool, actions, attributes, words, variables)) {
    return 0;
  }
  return next_posix_spawnp(child, name, actions, attributes, words, variables);
}
