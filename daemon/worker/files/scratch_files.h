// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/core/model/file_descriptor.h"

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

}  // namespace cccl_cache::daemon
