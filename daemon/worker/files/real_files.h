// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdio>
#include <memory>
#include <string>

/// System calls on files of the disk. The worker itself must use these functions, because `open`
/// and similar functions of this executable are replaced for the compilers (file_functions.cc).
/// Each function returns -errno on failure. Thread-safe.
namespace cccl_cache::daemon::real_files {

[[nodiscard]] int Open(const char* path, int flags, mode_t mode);
[[nodiscard]] int OpenAt(int directory, const char* path, int flags, mode_t mode);
/// `flags`: 0 or AT_SYMLINK_NOFOLLOW. The sandbox forbids this call.
[[nodiscard]] int StatAt(int directory, const char* path, struct stat* status, int flags);
[[nodiscard]] int Stat(int fd, struct stat* status);
/// The sandbox forbids this call.
[[nodiscard]] int Access(const char* path, int mode);
[[nodiscard]] ssize_t ReadLink(const char* path, char* buffer, size_t size);
/// Returns the real path of an open file, from /proc. The result is empty if the file has no path.
[[nodiscard]] std::string PathOf(int fd);

/// Works as mmap(2), with MAP_FAILED and errno on failure.
void* Map(void* address, size_t length, int protection, int flags, int fd, off_t offset);

}  // namespace cccl_cache::daemon::real_files

namespace cccl_cache::daemon {

/// Returns a stream that reads these bytes from memory, without a copy and without a descriptor.
/// The stream keeps `contents` alive. Null `contents` stand for a directory: each read fails with
/// EISDIR. Returns null, with errno, if there is no memory.
[[nodiscard]] FILE* OpenPinnedStream(std::shared_ptr<const std::string> contents);

}  // namespace cccl_cache::daemon
