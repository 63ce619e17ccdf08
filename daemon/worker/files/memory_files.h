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

/// The temporary files that a compiler makes in one job ("/tmp/edg1_123"). They live in memory,
/// never on a disk. Not thread-safe.
class ScratchFiles {
 public:
  /// Makes `count` files in advance, for a process that can make none in its sandbox.
  [[nodiscard]] static std::vector<FileDescriptor> MakeAhead(size_t count);

  /// Uses the files in `made` first, and makes more when they run out.
  explicit ScratchFiles(std::vector<FileDescriptor> made = {}) : made_(std::move(made)) {}

  /// Returns whether the path looks like a compiler's scratch file.
  [[nodiscard]] static bool Owns(std::string_view path);

  /// Works as open(2): returns -errno or a descriptor at the start of the file. All descriptors of
  /// one file share an offset, because a sandbox may forbid an open with its own offset. A compiler
  /// opens each file once.
  [[nodiscard]] int Open(const std::string& path, int flags);
  void Remove(const std::string& path) { files_.erase(path); }
  /// Returns an empty file in memory that can be sealed, without a name; invalid if none is left.
  [[nodiscard]] FileDescriptor Make();

 private:
  std::vector<FileDescriptor> made_;
  std::map<std::string, FileDescriptor, std::less<>> files_;
};

/// Fills an empty file in memory and seals it. Returns a descriptor at its beginning, or -errno.
/// -EFBIG: the contents exceed the limit of file sizes.
[[nodiscard]] int OpenInMemory(FileDescriptor memory, std::string_view contents);

/// The precompiled header of one job; the compiler knows it as kPchName. The compiler opens it for
/// reading before it reads the program, and for writing after it has parsed the program. So a
/// program can neither open it nor find out whether there is one. Not thread-safe.
class PchFile {
 public:
  /// Maps a file that is to be read, because a sandboxed process can't map it later.
  PchFile(int fd, PchUse use);
  PchFile(const PchFile&) = delete;
  PchFile& operator=(const PchFile&) = delete;

  /// Sets the new number of the descriptor, which is not owned.
  void Renumber(int fd) { fd_ = fd; }

  /// Works as open(2): returns -errno or a descriptor.
  [[nodiscard]] int Open(int flags);
  /// Works as stat(2): the compiler stats the file only right after it has opened it.
  [[nodiscard]] int Stat(struct stat* status);

  /// Moves this part of the file to the address of its private mapping; each part can be moved
  /// once. Returns false if `fd` is another file or the move fails.
  [[nodiscard]] bool MoveTo(void* address, size_t length, int fd, off_t offset) const;

 private:
  int fd_;
  const PchUse use_;
  char* mapped_ = nullptr;
  size_t size_ = 0;
  int opened_ = -1;  ///< the descriptor opened for reading; not owned
  bool just_opened_ = false;
};

/// Records in a page shared with the parent that a forked process was refused memory, so that the
/// parent knows it after the process has died. Used by the parent, which has one thread.
class RefusedMemory {
 public:
  /// Without a process: Note has no effect.
  RefusedMemory() = default;
  /// Makes the page for the next fork; to be called before it. Without a page nothing is recorded.
  [[nodiscard]] static RefusedMemory OfNextFork();
  /// Hides the page from children that are forked later; to be called after the fork.
  void HideFromOthers();
  /// Returns whether the process was refused memory; to be called once the process is dead.
  [[nodiscard]] bool noted() const;

  /// Records that this process was refused memory. Works only in the process that was forked next
  /// after the page was made. May be called from any thread; makes no system call.
  static void Note();

 private:
  struct Unmap {
    void operator()(std::atomic<bool>* page) const;
  };
  std::unique_ptr<std::atomic<bool>, Unmap> page_;
};

}  // namespace cccl_cache::daemon
