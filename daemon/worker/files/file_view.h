// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <variant>
#include <vector>

#include "base/mutex.h"
#include "daemon/compile/protocol/job.h"
#include "daemon/worker/files/bundled_headers.h"
#include "daemon/worker/files/file_client.h"
#include "daemon/worker/files/memory_files.h"
#include "daemon/worker/files/paths.h"

namespace cccl_cache::daemon {

/// The file system that the compiler sees in one job:
///   - A name under one of the job's mounts stands for the path that the mount maps it to.
///   - A file in a trusted directory belongs to the toolchain, even if a symlink leads out of the
///     directory (paths.h). It is opened from the disk.
///   - The headers that NVRTC's library contains are in memory.
///   - For all other names the worker asks the daemon.
///   - A name that the compiler made up does not exist until the compiler opens it.
///   - The compiler can write only the precompiled header and scratch files, which are in memory.
///
/// A file that must not be read looks absent to the compiler: "permission denied" would end a
/// compile that can do without the file. Functions return -errno on failure, like system calls.
/// Thread-safe, because a compiler may have threads.
class FileView {
 public:
  /// The objects that the view uses. Objects behind pointers must outlive the view.
  struct Others {
    FileClient* asked = nullptr;               ///< asks the daemon; null: no files exist but the
                                               ///< toolchain's
    PchFile* pch = nullptr;                    ///< null: the job has no precompiled header
    const BundledHeaders* bundled = nullptr;   ///< null: the job reads none
    std::vector<FileDescriptor> scratch = {};  ///< empty files for ScratchFiles
  };
  FileView(const WorkerJob& job, std::vector<std::string> trusted_directories, Others others);

  /// The result of an open: a descriptor, -errno, or the daemon's answer, which has the contents of
  /// a file outside the toolchain.
  using Opened = std::variant<int, FileAnswer>;
  [[nodiscard]] Opened OpenAny(std::string_view name, int flags);
  /// Opens a file or directory and returns a descriptor. Fails for a directory outside the
  /// toolchain.
  [[nodiscard]] int Open(std::string_view name, int flags);
  [[nodiscard]] int Stat(std::string_view name, struct stat* status);
  /// Returns a descriptor of a directory of the toolchain, for readdir. Fails for other
  /// directories.
  [[nodiscard]] int OpenDirectory(std::string_view name);
  [[nodiscard]] int Remove(std::string_view name);
  /// Like mmap(2), for a private mapping that can be read and written. No file is mapped, because
  /// the sandbox forbids it: the present contents of the file are moved or copied into memory.
  [[nodiscard]] void* Map(void* address, size_t length, int protection, int flags, int fd,
                          off_t offset);

  /// Returns the absolute form of a name without ".", ".." and "//", in the compiler's spelling.
  /// ".." is removed from the text alone: the compiler sees no symlinks.
  [[nodiscard]] std::string VisiblePath(std::string_view name) const;
  [[nodiscard]] const std::string& working_directory() const { return paths_.working_directory(); }

 private:
  /// Returns whether the path lies outside the toolchain, so that the daemon must be asked for it.
  [[nodiscard]] bool IsAsked(const std::string& path) REQUIRES(mutex_);
  [[nodiscard]] FileAnswer Ask(const std::string& visible) REQUIRES(mutex_);
  int StatAny(std::string_view name, struct stat* status);
  /// Returns the bundled file of this name, which may be absent. None: the name is not one of
  /// theirs.
  [[nodiscard]] std::optional<FileAnswer> FindBundled(std::string_view name) const;
  [[nodiscard]] Opened OpenAsked(const std::string& visible) REQUIRES(mutex_);
  int StatAsked(const std::string& visible, struct stat* status) REQUIRES(mutex_);
  /// Announces to the daemon that a file of the toolchain will be looked up. Returns false if the
  /// worker must not look it up.
  [[nodiscard]] bool Announce(const VisiblePaths::Path& path) REQUIRES(mutex_);
  /// Opens a file of the toolchain and returns a descriptor or -errno. `directory`: O_DIRECTORY if
  /// only a directory may be opened, otherwise 0.
  int OpenOwn(const std::string& path, int directory) REQUIRES(mutex_);
  int StatOwn(const std::string& path, struct stat* status) REQUIRES(mutex_);

  const VisiblePaths paths_;
  const BundledHeaders* const bundled_;
  const std::vector<std::string> header_directories_;  ///< real paths of the toolchain's
  Mutex mutex_;
  FileClient* const asked_ PT_GUARDED_BY(mutex_);
  PchFile* const pch_ PT_GUARDED_BY(mutex_);
  TrustedDirectories trusted_ GUARDED_BY(mutex_);
  ScratchFiles scratch_ GUARDED_BY(mutex_);
  /// Made-up names that the compiler has opened, so that they may exist.
  std::unordered_set<std::string> opened_ GUARDED_BY(mutex_);
};

}  // namespace cccl_cache::daemon

/// The statuses that stat returns for files and directories under made-up names, instead of the
/// real status, which the compiler must not see. They are equal on all machines and at all times.
namespace cccl_cache::daemon::made_up_status {

/// The status of a directory that a job mounts (`VisiblePaths::Directory`), even if the disk has no
/// such directory, or of the working directory. `inode` is a made-up number; all mounts of one real
/// directory have the same number.
[[nodiscard]] struct stat Directory(uint64_t inode);

/// The status of a directory outside the toolchain. `identity` is its inode number (FileAnswer).
[[nodiscard]] struct stat OutsideDirectory(uint64_t identity);
[[nodiscard]] struct stat File(uint64_t identity, uint64_t size);

/// The status of a file or directory of BundledHeaders.
[[nodiscard]] struct stat Bundled(const FileAnswer& answer);

}  // namespace cccl_cache::daemon::made_up_status
