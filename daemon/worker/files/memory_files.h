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

#include "base/file_descriptor.h"
#include "daemon/compile/protocol/frame.h"

namespace cccl_cache::daemon {

/// The temporary files that a compiler makes in one job ("/tmp/edg1_123"): in memory, never on a
/// disk. Not thread-safe.
class ScratchFiles {
 public:
  /// So many, for a process that may make none later.
  [[nodiscard]] static std::vector<FileDescriptor> MakeAhead(size_t count);

  /// Takes files from `made` as long as there are any.
  explicit ScratchFiles(std::vector<FileDescriptor> made = {}) : made_(std::move(made)) {}

  /// Whether this is a name that a compiler gives to its scratch files.
  [[nodiscard]] static bool Owns(std::string_view path);

  /// As open(2): -errno or a descriptor at the start of the file. All of one file share an offset:
  /// a compiler has it open once. (A sandbox may allow no open that would give another one.)
  [[nodiscard]] int Open(const std::string& path, int flags);
  void Remove(const std::string& path) { files_.erase(path); }
  /// An empty file in memory that can be sealed, without a name. Invalid: there are none left.
  [[nodiscard]] FileDescriptor Make();

 private:
  std::vector<FileDescriptor> made_;
  std::map<std::string, FileDescriptor, std::less<>> files_;
};

/// Fills an empty file in memory. A descriptor of it, at its beginning, when it holds these bytes
/// and can't be changed; -errno: there is none, -EFBIG: more than this process may write.
[[nodiscard]] int OpenInMemory(FileDescriptor memory, std::string_view contents);

/// The precompiled header of one job, kPchName to the compiler. The compiler opens it to read
/// before it looks at the program, and opens it to write when it has parsed that: so whatever the
/// program makes it open or look for is never this file, and a program can't tell whether it has
/// one. Not thread-safe.
class PchFile {
 public:
  /// What is to be read is mapped at once: a sandboxed process maps no files.
  PchFile(int fd, PchUse use);
  PchFile(const PchFile&) = delete;
  PchFile& operator=(const PchFile&) = delete;

  /// The descriptor will be known as this from now on; not owned.
  void Renumber(int fd) { fd_ = fd; }

  /// As open(2), -errno or a descriptor.
  [[nodiscard]] int Open(int flags);
  /// As stat(2): the compiler looks at the file right after it has opened it, and never else.
  [[nodiscard]] int Stat(struct stat* status);

  /// Moves this part of the file, as far as it was not moved before, to an address where its
  /// private mapping is to be. False: `fd` is another file, or it can't.
  [[nodiscard]] bool MoveTo(void* address, size_t length, int fd, off_t offset) const;

 private:
  int fd_;
  const PchUse use_;
  char* mapped_ = nullptr;
  size_t size_ = 0;
  int opened_ = -1;  ///< for reading
  bool just_opened_ = false;
};

/// Whether a forked process was refused memory, in a page that it shares with its parent: so it can
/// be known after the process has died. Used by the parent, which has one thread.
class RefusedMemory {
 public:
  /// Of no process: nothing is ever noted.
  RefusedMemory() = default;
  /// Before the fork. Where no page can be had, nothing is ever noted.
  [[nodiscard]] static RefusedMemory OfNextFork();
  /// After the fork: children that are forked later do not see this page.
  void HideFromOthers();
  /// Once the process is dead.
  [[nodiscard]] bool noted() const;

  /// In a process that was forked after this page was made, and in none forked later: this process
  /// asked for memory and did not get it. From any thread; makes no system call.
  static void Note();

 private:
  struct Unmap {
    void operator()(std::atomic<bool>* page) const;
  };
  std::unique_ptr<std::atomic<bool>, Unmap> page_;
};

}  // namespace cccl_cache::daemon
