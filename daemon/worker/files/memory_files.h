// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/file_descriptor.h"
#include "daemon/compile/protocol/frame.h"

namespace cccl_cache::daemon {

/// The temporary files that a compiler makes in one job ("/tmp/edg1_123"). They are memory files,
/// so nothing is written to a disk. Not thread-safe.
class ScratchFiles {
 public:
  /// Returns `count` empty memory files. Call this before the process enters the sandbox, which may
  /// forbid new ones.
  [[nodiscard]] static std::vector<FileDescriptor> MakeAhead(size_t count);

  /// `made`: empty memory files that are used first. When all are used, further files are made if
  /// the sandbox permits it.
  explicit ScratchFiles(std::vector<FileDescriptor> made = {}) : made_(std::move(made)) {}

  /// Returns whether a compiler makes temporary files with such a path.
  [[nodiscard]] static bool Owns(std::string_view path);

  /// Works as open(2): returns a descriptor at the start of the file, or -errno. All descriptors of
  /// one file share one offset, because a sandbox may forbid a second open file description. A
  /// compiler opens each file once, so this does no harm.
  [[nodiscard]] int Open(const std::string& path, int flags);
  void Remove(const std::string& path) { files_.erase(path); }
  /// Returns an empty memory file without a name, which can be sealed. The result is invalid if no
  /// file can be made.
  [[nodiscard]] FileDescriptor Make();

 private:
  std::vector<FileDescriptor> made_;
  std::map<std::string, FileDescriptor, std::less<>> files_;
};

/// Writes `contents` to an empty memory file and seals it. Returns a descriptor at its start, or
/// -errno. -EFBIG: the contents are larger than RLIMIT_FSIZE.
[[nodiscard]] int OpenInMemory(FileDescriptor memory, std::string_view contents);

/// The precompiled header of one job. Its path for the compiler is kPchName. The compiler opens it
/// for reading before it reads the program, and for writing after it has parsed the program.
/// Therefore the program itself can't open it or find out whether it exists. Not thread-safe.
class PchFile {
 public:
  /// `fd` is not owned. A header for reading is mapped now, because a sandboxed process can't map
  /// it.
  PchFile(int fd, PchUse use);
  PchFile(const PchFile&) = delete;
  PchFile& operator=(const PchFile&) = delete;

  /// Replaces the descriptor by one of the same file. It is not owned.
  void Renumber(int fd) { fd_ = fd; }

  /// Works as open(2): returns a descriptor, or -errno.
  [[nodiscard]] int Open(int flags);
  /// Works as stat(2). Succeeds once after each open, because the compiler calls it only then.
  [[nodiscard]] int Stat(struct stat* status);

  /// Moves a part of the mapped file to `address`, in place of a private mapping of `fd` there.
  /// Each part can be moved once. Returns false if `fd` is not the descriptor from Open, or if the
  /// move fails.
  [[nodiscard]] bool MoveTo(void* address, size_t length, int fd, off_t offset) const;

 private:
  int fd_;
  const PchUse use_;
  char* mapped_ = nullptr;
  size_t size_ = 0;
  int opened_ = -1;  ///< the descriptor that the compiler reads; not owned
  bool just_opened_ = false;
};

/// Tells the parent of a forked process whether that process was refused memory. The process
/// records it in a page that it shares with the parent, so the parent can read it after the process
/// has died. Except for Note, used by the parent alone, on one thread.
class RefusedMemory {
 public:
  /// Makes an object without a page. Nothing is recorded in it.
  RefusedMemory() = default;
  /// Makes the page for the next child process. Call it before the fork. If the system refuses the
  /// page, nothing is recorded.
  [[nodiscard]] static RefusedMemory OfNextFork();
  /// Hides the page from processes that are forked later. The parent calls it after the fork.
  void HideFromOthers();
  /// Returns whether the process was refused memory. Call it after the process has died.
  [[nodiscard]] bool noted() const;

  /// Records that this process was refused memory. It has no effect unless this process is the
  /// child for which a page was made. Thread-safe. It makes no system call.
  static void Note();

 private:
  struct Unmap {
    void operator()(std::atomic<bool>* page) const;
  };
  std::unique_ptr<std::atomic<bool>, Unmap> page_;
};

}  // namespace cccl_cache::daemon
