// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/files/file_stamp.h"
#include "base/lru.h"
#include "base/mutex.h"
#include "daemon/files/access_rules.h"
#include "daemon/files/path_error.h"
#include "daemon/files/path_walk.h"
#include "daemon/system/job_memory.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// What is known about a file's contents as long as the file has the same stamp.
struct KnownContents {
  Digest digest;
  /// Whether the file has an access list. If so, its mode alone does not decide who may read it.
  bool has_access_list = false;
};

/// The digests of files that were read, by the files' stamps. Beyond `max_files`, the least
/// recently used digest is dropped. The digests are not kept on disk: to check that a stamp from
/// before a restart is still valid takes longer than to read the file again. Thread-safe.
class DigestMemory {
 public:
  explicit DigestMemory(size_t max_files) : entries_({.max_entries = max_files}) {}

  [[nodiscard]] std::optional<KnownContents> Find(const ContentStamp& stamp);
  void Remember(const ContentStamp& stamp, const KnownContents& contents);
  [[nodiscard]] size_t size() const;

 private:
  mutable Mutex mutex_;
  PerUserLru<ContentStamp, KnownContents, ContentStampHash> entries_ GUARDED_BY(mutex_);
};

/// The facts about requesters' files that are kept for later builds. Thread-safe.
struct FileMemory {
  /// `max_files` is the limit of each member, which needs some 200 bytes for each file.
  explicit FileMemory(size_t max_files)
      : digests(max_files), absent(max_files), checked(max_files) {}

  DigestMemory digests;
  AbsentNames absent;
  CheckedDirectories checked;
  /// Returns the age in nanoseconds from which a file's stamp can be trusted. None: no stamp can be
  /// trusted. See KernelWriteBack.
  std::function<std::optional<int64_t>()> write_back = [] { return KernelWriteBack(); };
};

/// A file's contents as they were at one time.
struct FileContents {
  Digest digest;
  std::shared_ptr<const std::string> bytes;  ///< the bytes from which the digest was computed
  struct statx status {};
};

/// The account that is charged for the contents of large files. If `memory` is null, no account is
/// charged.
struct MemoryAccount {
  std::shared_ptr<JobMemory> memory = nullptr;
  Account account{0};
};

/// Reads whole regular files, and remembers the digests of files that do not change. Each build
/// needs its own object. Not thread-safe.
class ContentsReader {
 public:
  ContentsReader(AccessRules& rules, FileMemory& memory, MemoryAccount account = {})
      : rules_(rules), memory_(memory), account_(std::move(account)) {}

  /// Reads the regular file that was found at this place. Checks the file again, because another
  /// file may be there now. Returns kChanging if the file changed during the call; the caller must
  /// then resolve the path again.
  Reached<FileContents> Read(const Place& place);

  /// Returns the digest of the regular file that was found at this place, without reading the file.
  /// None if the digest is unknown, the file may have changed since it was read, or an access list
  /// may deny the file to the requester.
  [[nodiscard]] std::optional<Digest> Known(const Place& place);

 private:
  Reached<FileContents> ReadOpen(int contents, FileSystem file_system);
  [[nodiscard]] bool LiesStill(const ContentStamp& stamp, int64_t now_ns);

  AccessRules& rules_;
  FileMemory& memory_;
  const MemoryAccount account_;
  std::optional<std::optional<int64_t>> write_back_;  ///< the result of memory_.write_back(); empty
                                                      ///< before the first use
};

}  // namespace cccl_cache::daemon
