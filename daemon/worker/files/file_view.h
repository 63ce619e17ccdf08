// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <variant>
#include <vector>

#include "daemon/compile/protocol/job.h"
#include "daemon/worker/files/file_client.h"
#include "daemon/worker/files/memory_files.h"
#include "daemon/worker/files/paths.h"

namespace cccl_cache::daemon {

/// The file system as the compiler sees it in one job:
///   - names under the job's mounts lie where the mount says;
///   - what lies in a trusted directory is the toolchain's own, also where a symlink in it leads
///   out of it (paths.h): opened as it lies there;
///   - all else is outside: what the daemon answers, for as long as the job runs;
///   - a name that the compiler made up is absent until it is opened like any other;
///   - nothing is written but scratch files, which live in memory, and the precompiled header.
/// What is refused does not exist: "permission denied" would end a compile that would do without
/// the file. Answers are those of the system calls, -errno for a failure. Thread-safe: a compiler
/// may use threads.
class FileView {
 public:
  /// Outlive the view.
  struct Others {
    FileClient* asked = nullptr;  ///< whom to ask about what lies outside; null: nothing does
    PchFile* pch = nullptr;       ///< null: the job has no precompiled header
    std::vector<FileDescriptor> scratch = {};  ///< files made ahead
  };
  FileView(const WorkerJob& job, std::vector<std::string> trusted_directories, Others others);

  /// What was opened: a descriptor or -errno; or a file or directory as the daemon answered.
  using Opened = std::variant<int, FileAnswer>;
  [[nodiscard]] Opened OpenAny(std::string_view name, int flags);
  /// As a descriptor in any case; none of a directory outside.
  [[nodiscard]] int Open(std::string_view name, int flags);
  [[nodiscard]] int Stat(std::string_view name, struct stat* status);
  /// A directory of the toolchain for reading; listings of others are not given.
  [[nodiscard]] int OpenDirectory(std::string_view name);
  [[nodiscard]] int Remove(std::string_view name);
  /// As mmap(2) of a private mapping that is read and written, made without mapping a file: what
  /// the file holds now is moved or copied to there.
  [[nodiscard]] void* Map(void* address, size_t length, int protection, int flags, int fd,
                          off_t offset);

  /// The name without ".", ".." and "//", still as the compiler sees it: its view has no symlinks.
  [[nodiscard]] std::string VisiblePath(std::string_view name) const;
  [[nodiscard]] const std::string& working_directory() const { return paths_.working_directory(); }

 private:
  /// Whether this is for the daemon to answer: the path is not in the toolchain, or leaves it.
  [[nodiscard]] bool IsAsked(const std::string& path);
  [[nodiscard]] FileAnswer Ask(const std::string& visible);
  int StatAny(std::string_view name, struct stat* status);
  [[nodiscard]] Opened OpenAsked(const std::string& visible);
  int StatAsked(const std::string& visible, struct stat* status);
  /// Announces a look at the toolchain's own file. False: there is none to be had.
  [[nodiscard]] bool Announce(const VisiblePaths::Path& path);
  /// The toolchain's own file: its descriptor, or -errno. `directory`: O_DIRECTORY if it has to be
  /// one, else 0.
  int OpenOwn(const std::string& path, int directory);
  int StatOwn(const std::string& path, struct stat* status);

  const VisiblePaths paths_;
  const std::vector<std::string> header_directories_;  ///< the toolchain's, real paths
  FileClient* const asked_;  ///< its use is guarded by mutex_, as that of the next
  PchFile* const pch_;
  std::mutex mutex_;
  TrustedDirectories trusted_;  // guarded by mutex_, as all below
  ScratchFiles scratch_;
  std::unordered_set<std::string> opened_;  ///< of the names that the compiler made up
};

}  // namespace cccl_cache::daemon

/// What stat says of things that a compiler sees elsewhere than where they lie, or that it must not
/// see as they are: the same on every machine and at any time.
namespace cccl_cache::daemon::made_up_status {

/// One that is there because the job says so. The inode tells it from others of its kind.
[[nodiscard]] struct stat Directory(uint64_t inode);

/// One outside the toolchain, and a file there: the identity tells them from all others outside.
[[nodiscard]] struct stat OutsideDirectory(uint64_t identity);
[[nodiscard]] struct stat File(uint64_t identity, uint64_t size);

}  // namespace cccl_cache::daemon::made_up_status
