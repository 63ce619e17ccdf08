// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/memory_store.h"

#include <cassert>
#include <utility>

namespace cccl_cache::daemon {

ArtifactPtr MemoryStore::Get(const Digest& key) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->artifact;
}

void MemoryStore::Put(const Digest& key, ArtifactPtr artifact) {
  assert(artifact);
  constexpr uint64_t kBookkeeping = 160;  // list node, hash node, bucket
  const uint64_t bytes = artifact->Footprint() + sizeof(Entry) + kBookkeeping;
  if (bytes > limit_bytes_) return;
  Entries gone;  // freed after the lock
  const std::lock_guard lock(mutex_);
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    bytes_ -= found->second->bytes;
    gone.splice(gone.begin(), entries_, found->second);
    by_key_.erase(found);
  }
  gone.splice(gone.end(), MakeRoom(bytes));
  entries_.push_front({key, std::move(artifact), bytes});
  by_key_.emplace(key, entries_.begin());
  bytes_ += bytes;
}

void MemoryStore::Remove(const Digest& key) {
  Entries gone;  // freed after the lock
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return;
  bytes_ -= found->second->bytes;
  gone.splice(gone.begin(), entries_, found->second);
  by_key_.erase(found);
}

MemoryStore::Entries MemoryStore::MakeRoom(uint64_t incoming) {
  Entries gone;
  while (!entries_.empty() && bytes_ + incoming > limit_bytes_) {
    const auto oldest = std::prev(entries_.end());
    bytes_ -= oldest->bytes;
    by_key_.erase(oldest->key);
    gone.splice(gone.end(), entries_, oldest);
  }
  return gone;
}

bool MemoryStore::Holds(const Digest& key) {
  const std::lock_guard lock(mutex_);
  return by_key_.contains(key);
}

TierSize MemoryStore::size() const {
  const std::lock_guard lock(mutex_);
  return {entries_.size(), bytes_};
}

}  // namespace cccl_cache::daemon
