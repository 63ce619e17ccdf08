// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <variant>
#include <vector>

#include "base/mutex.h"
#include "daemon/compile/protocol/job.h"
#include "daemon/worker/files/file_client.h"
#include "daemon/worker/files/memory_files.h"
#include "daemon/worker/files/paths.h"

namespace cccl_cache::daemon {

/// The file system as the compiler sees it in one job:
///   - names under the job's mounts lie where the mount says;
///   - files in a trusted directory are the toolchain's own, even behind a symlink that leaves it
///     (paths.h): they are opened from the disk;
///   - all other names are outside: the daemon answers for them while the job runs;
///   - a name that the compiler made up is absent until the compiler opens it;
///   - only scratch files, which live in memory, and the precompiled header can be written.
/// A refused file looks absent: "permission denied" would end a compile that can do without the
/// file. Functions return -errno on failure, like system calls. Thread-safe: a compiler may use
/// threads.
class FileView {
 public:
  /// Helpers of the view. Pointers in it must outlive the view.
  struct Others {
    FileClient* asked = nullptr;               ///< answers for files outside; null: none exist
    PchFile* pch = nullptr;                    ///< null: the job has no precompiled header
    std::vector<FileDescriptor> scratch = {};  ///< files made in advance
  };
  FileView(const WorkerJob& job, std::vector<std::string> trusted_directories, Others others);

  /// The result of an open: a descriptor, -errno, or the daemon's answer about a file or directory.
  using Opened = std::variant<int, FileAnswer>;
  [[nodiscard]] Opened OpenAny(std::string_view name, int flags);
  /// Opens any name as a descriptor. Fails for a directory outside the toolchain.
  [[nodiscard]] int Open(std::string_view name, int flags);
  [[nodiscard]] int Stat(std::string_view name, struct stat* status);
  /// Opens a directory of the toolchain for reading; other directories can't be listed.
  [[nodiscard]] int OpenDirectory(std::string_view name);
  [[nodiscard]] int Remove(std::string_view name);
  /// Works as mmap(2) for a private mapping that is read and written. It maps no file, but moves or
  /// copies the file's present contents into memory.
  [[nodiscard]] void* Map(void* address, size_t length, int protection, int flags, int fd,
                          off_t offset);

  /// Returns the name without ".", ".." and "//", still as the compiler sees it: its view has no
  /// symlinks.
  [[nodiscard]] std::string VisiblePath(std::string_view name) const;
  [[nodiscard]] const std::string& working_directory() const { return paths_.working_directory(); }

 private:
  /// Returns whether the daemon must answer for this path, because it lies outside the toolchain.
  [[nodiscard]] bool IsAsked(const std::string& path) REQUIRES(mutex_);
  [[nodiscard]] FileAnswer Ask(const std::string& visible) REQUIRES(mutex_);
  int StatAny(std::string_view name, struct stat* status);
  [[nodiscard]] Opened OpenAsked(const std::string& visible) REQUIRES(mutex_);
  int StatAsked(const std::string& visible, struct stat* status) REQUIRES(mutex_);
  /// Tells the daemon that the toolchain's own file is looked up. Returns false if it must not be.
  [[nodiscard]] bool Announce(const VisiblePaths::Path& path) REQUIRES(mutex_);
  /// Opens the toolchain's own file: returns its descriptor, or -errno. `directory`: O_DIRECTORY to
  /// open a directory only, otherwise 0.
  int OpenOwn(const std::string& path, int directory) REQUIRES(mutex_);
  int StatOwn(const std::string& path, struct stat* status) REQUIRES(mutex_);

  const VisiblePaths paths_;
  const std::vector<std::string> header_directories_;  ///< the toolchain's, real paths
  Mutex mutex_;
  FileClient* const asked_ PT_GUARDED_BY(mutex_);
  PchFile* const pch_ PT_GUARDED_BY(mutex_);
  TrustedDirectories trusted_ GUARDED_BY(mutex_);
  ScratchFiles scratch_ GUARDED_BY(mutex_);
  /// The compiler's made-up names that it has opened.
  std::unordered_set<std::string> opened_ GUARDED_BY(mutex_);
};

}  // namespace cccl_cache::daemon

/// The status that stat reports for names that a compiler sees under canonical paths, or whose real
/// status it must not see. It is equal on all machines and at all times.
namespace cccl_cache::daemon::made_up_status {

/// The status of a directory that the compiler sees because the job mounts it
/// (`VisiblePaths::Directory`), also if the disk has none, or of the working directory. `inode` is
/// made up; mounts of one real directory have the same.
[[nodiscard]] struct stat Directory(uint64_t inode);

/// The status of a directory outside the toolchain; `identity` becomes the inode.
[[nodiscard]] struct stat OutsideDirectory(uint64_t identity);
[[nodiscard]] struct stat File(uint64_t identity, uint64_t size);

}  // namespace cccl_cache::daemon::made_up_status
