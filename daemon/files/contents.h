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

/// The known facts about a file's contents under one stamp.
struct KnownContents {
  Digest digest;
  /// The file has an access list: its mode alone does not decide who may read it.
  bool has_access_list = false;
};

/// The digests of files that were read, keyed by the files' stamps: an LRU bounded in files. Not
/// kept on disk: to check that a stamp from before a restart still holds takes longer than to read
/// the file again. Thread-safe.
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

/// The facts about requesters' files that are kept from one build to the next. Thread-safe.
struct FileMemory {
  /// `max_files` is the limit of each member; some 200 bytes a file.
  explicit FileMemory(size_t max_files)
      : digests(max_files), absent(max_files), checked(max_files) {}

  DigestMemory digests;
  AbsentNames absent;
  CheckedDirectories checked;
  /// Returns the age in nanoseconds from which a file's stamp can be trusted; see KernelWriteBack.
  std::function<std::optional<int64_t>()> write_back = [] { return KernelWriteBack(); };
};

/// A file's contents as they were at one time.
struct FileContents {
  Digest digest;
  std::shared_ptr<const std::string> bytes;  ///< exactly the bytes of the digest
  struct statx status {};
};

/// The account that pays for the contents of large files. Null `memory`: they are not charged.
struct MemoryAccount {
  std::shared_ptr<JobMemory> memory = nullptr;
  Account account{0};
};

/// Reads regular files whole, and remembers the digests of files that do not change. For one build.
/// Not thread-safe.
class ContentsReader {
 public:
  ContentsReader(AccessRules& rules, FileMemory& memory, MemoryAccount account = {})
      : rules_(rules), memory_(memory), account_(std::move(account)) {}

  /// Reads the file at a place where a regular file was found. Checks it again, because another
  /// file may be there now. Returns kChanging if the file changed meanwhile; then resolve the path
  /// again.
  Reached<FileContents> Read(const Place& place);

  /// Returns the digest of the file at a place where a regular file was found. Returns none if the
  /// file may have changed since it was read, or this requester may not have it.
  [[nodiscard]] std::optional<Digest> Known(const Place& place);

 private:
  Reached<FileContents> ReadOpen(int contents, FileSystem file_system);
  [[nodiscard]] bool LiesStill(const ContentStamp& stamp, int64_t now_ns);

  AccessRules& rules_;
  FileMemory& memory_;
  const MemoryAccount account_;
  std::optional<std::optional<int64_t>> write_back_;  ///< memory_.write_back() of this build; none
                                                      ///< before the first use
};

}  // namespace cccl_cache::daemon
