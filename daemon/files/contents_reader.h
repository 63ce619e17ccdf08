// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "daemon/core/model/job_memory.h"
#include "daemon/files/access_rules.h"
#include "daemon/files/file_memory.h"
#include "daemon/files/name_walk.h"
#include "daemon/files/obstacle.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// A file's contents as they were at one time.
struct FileContents {
  cccl_cache::Digest digest;
  std::shared_ptr<const std::string> bytes;  ///< exactly those of the digest
  struct statx status {};
};

/// Whom the contents of large files count on. Without memory they count on nobody.
struct MemoryAccount {
  std::shared_ptr<JobMemory> memory = nullptr;
  Account account{0};
};

/// Reads regular files whole, and remembers the digests of those that lie still. For one build. Not
/// thread-safe.
class ContentsReader {
 public:
  ContentsReader(AccessRules& rules, FileMemory& memory, MemoryAccount account = {})
      : rules_(rules), memory_(memory), account_(std::move(account)) {}

  /// The file that lies at a place where a regular file was found. Judges it again: another may lie
  /// there now. kChanging: something changed meanwhile; worth another try from the path on.
  Reached<FileContents> Read(const Place& place);

  /// The digest, if the file at a place where a regular file was found is known to be unchanged
  /// since it was read, and this requester may have it.
  [[nodiscard]] std::optional<cccl_cache::Digest> Known(const Place& place);

 private:
  Reached<FileContents> ReadOpen(int contents, FileSystem file_system);
  [[nodiscard]] bool LiesStill(const ContentStamp& stamp, int64_t now_ns);

  AccessRules& rules_;
  FileMemory& memory_;
  const MemoryAccount account_;
  std::optional<std::optional<int64_t>> write_back_;  ///< of memory_, once it was asked for
};

}  // namespace cccl_cache::daemon
