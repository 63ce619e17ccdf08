// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// The functions of the C library that start programs, for recorder.h.
#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

#include "client/interpose/exec_words.h"
#include "client/nvcc/recorder.h"

namespace {

using cccl_cache::interpose::WithWords;
using namespace cccl_cache::nvcc;  // NOLINT: only the exports are outside of this namespace

/// Records the look-ups of a search in PATH, as execvp() makes them.
void SearchProgram(const char* name) {
  if (!IsRecorded() || name == nullptr || name[0] == '\0' || std::strchr(name, '/') != nullptr) {
    return;
  }
  const char* const list = std::getenv("PATH");
  if (list == nullptr) Lose("execvp");  // the C library has a default
  char path[PATH_MAX];
  const int error = errno;
  for (const char* directory = list; directory != nullptr;) {
    const size_t length = std::strcspn(directory, ":");
    if (length + std::strlen(name) + 2 < sizeof(path)) {
      std::memcpy(path, length == 0 ? "." : directory, length == 0 ? 1 : length);
      path[length == 0 ? 1 : length] = '\0';
      std::strcat(std::strcat(path, "/"), name);
      const bool found = syscall(SYS_faccessat, AT_FDCWD, path, X_OK) == 0;
      Put(RecordKind::kLook, path, found ? 0 : errno);
      if (found) break;
    } else {
      Lose("execvp");
    }
    directory = directory[length] == '\0' ? nullptr : directory + length + 1;
  }
  errno = error;
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
