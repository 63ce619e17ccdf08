// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>
#include <fcntl.h>

#include <cerrno>

#include "client/nvcc/record.h"

// The library libcccl_cache_record.so, which cccl-cache-nvcc preloads into nvcc and thereby into
// all programs that nvcc starts. It records each name of a file that a program looks up, found or
// not, each file that it changes, and each program that it starts. Each exported function calls the
// next library's function of the same name and returns what that returned. A function may run
// between vfork() and exec or in a signal handler, so none allocates heap memory or takes a lock: a
// record is an atomic addition and a copy into shared memory. Calls that the C library makes
// internally are not seen, so that functions such as realpath() and system() are here as a whole.
// Like libcccl_cache_exec.so, this library uses no C++ runtime.

namespace cccl_cache::nvcc {

/// A function of the next library. All are looked up when this library is loaded, because a forked
/// child of a process with several threads must not call the dynamic loader.
struct NextFunction {
  const char* name;
  void* found;
};

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

/// Returns whether this process is a part of a run whose look-ups are recorded.
bool IsRecorded();
/// Returns whether this process is a stand-in of ours, such as cccl-cache-ptxas. It looks up what
/// its key covers, and these look-ups are recorded. It makes its own caches, which are in open
/// directories, and its report is a temporary file; these are not.
bool IsStandIn();

/// Further fields of a record. The text of a record is `text`, or `text`, a NUL and `more`.
struct Details {
  const char* more = nullptr;
  FileIdentity identity = {};
};

/// Writes a record of a call by another process, or by this one.
void PutFrom(int process, RecordKind kind, const char* text, int error, const Details& details);
void Put(RecordKind kind, const char* text, int error, const Details& details = {});

/// Returns whether the run asked for the contents of temporary files.
bool KeepsTexts();
/// Writes a record of the contents of an open file with this size. To be called if KeepsTexts().
void PutContents(const char* path, int file, uint64_t size);

/// Returns the identity of the file with a name.
FileIdentity IdentityOfNamed(const char* path);

/// Notes a call of a function that is not recorded further, so that the run is not kept.
inline void Lose(const char* function) { Put(RecordKind::kLost, function, 0); }

/// Returns whether the name is one that is relative to the working directory or absolute. A name in
/// another directory is not recorded.
bool HasPlainName(int directory, const char* path);

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

}  // namespace cccl_cache::nvcc
