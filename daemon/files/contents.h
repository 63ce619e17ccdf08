// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "daemon/core/model/job_memory.h"
#include "daemon/files/access_rules.h"
#include "daemon/files/file_stamp.h"
#include "daemon/files/path_error.h"
#include "daemon/files/path_walk.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// What is known of a file's contents under its stamp.
struct KnownContents {
  Digest digest;
  /// The file has an access list: its mode does not say alone who may read it.
  bool has_access_list = false;
};

/// Digests of files that were read, under the files' stamps: an LRU, bounded in files. In memory
/// only, for it takes longer to distrust a stamp of before a restart than to read again.
/// Thread-safe.
class DigestMemory {
 public:
  explicit DigestMemory(size_t max_files) : max_files_(max_files) {}
  DigestMemory(const DigestMemory&) = delete;
  DigestMemory& operator=(const DigestMemory&) = delete;

  [[nodiscard]] std::optional<KnownContents> Find(const ContentStamp& stamp);
  void Remember(const ContentStamp& stamp, const KnownContents& contents);
  [[nodiscard]] size_t size() const;

 private:
  using Entry = std::pair<ContentStamp, KnownContents>;
  using Entries = std::list<Entry>;

  const size_t max_files_;
  mutable std::mutex mutex_;
  Entries entries_;  // guarded by mutex_; last used first
  std::unordered_map<ContentStamp, Entries::iterator, ContentStampHash> index_;  // by mutex_
};

/// What is remembered of requesters' files from one build to the next. Thread-safe.
struct FileMemory {
  /// `max_files`: of each; some 200 bytes a file.
  explicit FileMemory(size_t max_files) : digests(max_files), absent(max_files) {}

  DigestMemory digests;
  AbsentNames absent;
  /// How old a file must be to be remembered; see KernelWriteBack.
  std::function<std::optional<int64_t>()> write_back = [] { return KernelWriteBack(); };
};

/// A file's contents as they were at one time.
struct FileContents {
  Digest digest;
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
  [[nodiscard]] std::optional<Digest> Known(const Place& place);

 private:
  Reached<FileContents> ReadOpen(int contents, FileSystem file_system);
  [[nodiscard]] bool LiesStill(const ContentStamp& stamp, int64_t now_ns);

  AccessRules& rules_;
  FileMemory& memory_;
  const MemoryAccount account_;
  std::optional<std::optional<int64_t>> write_back_;  ///< of memory_, once it was asked for
};

}  // namespace cccl_cache::daemon
