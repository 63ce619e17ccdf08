// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/files/digest_memory.h"

namespace cccl_cache::daemon {

std::optional<KnownContents> DigestMemory::Find(const ContentStamp& stamp) {
  const std::lock_guard lock(mutex_);
  const auto found = index_.find(stamp);
  if (found == index_.end()) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->second;
}

void DigestMemory::Remember(const ContentStamp& stamp, const KnownContents& contents) {
  const std::lock_guard lock(mutex_);
  if (const auto found = index_.find(stamp); found != index_.end()) {
    found->second->second = contents;
    entries_.splice(entries_.begin(), entries_, found->second);
    return;
  }
  if (max_files_ == 0) return;
  if (entries_.size() == max_files_) {
    index_.erase(entries_.back().first);
    entries_.pop_back();
  }
  entries_.emplace_front(stamp, contents);
  index_.emplace(stamp, entries_.begin());
}

size_t DigestMemory::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace cccl_cache::daemon
