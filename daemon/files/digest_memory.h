// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "daemon/files/content_stamp.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// What is known of a file's contents under its stamp.
struct KnownContents {
  cccl_cache::Digest digest;
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

}  // namespace cccl_cache::daemon
