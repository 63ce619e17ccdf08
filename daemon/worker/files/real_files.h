// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdio>
#include <memory>
#include <string>

/// The kernel's file calls under names of their own: in this executable `open` and related
/// functions are replaced for the compilers (file_functions.cc). Each function returns -errno on
/// failure. Thread-safe.
namespace cccl_cache::daemon::real_files {

[[nodiscard]] int Open(const char* path, int flags, mode_t mode);
[[nodiscard]] int OpenAt(int directory, const char* path, int flags, mode_t mode);
/// `flags`: AT_SYMLINK_NOFOLLOW. Must not be called in the sandbox.
[[nodiscard]] int StatAt(int directory, const char* path, struct stat* status, int flags);
[[nodiscard]] int Stat(int fd, struct stat* status);
/// Must not be called in the sandbox.
[[nodiscard]] int Access(const char* path, int mode);
[[nodiscard]] ssize_t ReadLink(const char* path, char* buffer, size_t size);
/// Returns the real path of an open file, or an empty string if it has none.
[[nodiscard]] std::string PathOf(int fd);

/// Works as mmap(2).
void* Map(void* address, size_t length, int protection, int flags, int fd, off_t offset);

}  // namespace cccl_cache::daemon::real_files

namespace cccl_cache::daemon {

/// Returns a stream that reads these bytes without a copy and has no descriptor. Returns null, with
/// errno, if there is no memory. Null contents mean a directory, from which every read fails.
[[nodiscard]] FILE* OpenPinnedStream(std::shared_ptr<const std::string> contents);

}  // namespace cccl_cache::daemon
