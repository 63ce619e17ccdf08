// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/memory_store.h"

#include <cassert>
#include <utility>

namespace cccl_cache::daemon {

ArtifactPtr MemoryStore::Get(const Digest& key) {
  const MutexLock lock(mutex_);
  const ArtifactPtr* const found = entries_.Use(key);
  return found == nullptr ? nullptr : *found;
}

bool MemoryStore::Holds(const Digest& key) {
  const MutexLock lock(mutex_);
  return entries_.Find(key) != nullptr;
}

void MemoryStore::Put(const Digest& key, ArtifactPtr artifact) {
  assert(artifact);
  constexpr uint64_t kBookkeeping = 160;  // list node, hash node, bucket
  const uint64_t bytes = artifact->Footprint() + sizeof(Lru::Entry) + kBookkeeping;
  Lru::Entries gone;  // freed after the lock
  const MutexLock lock(mutex_);
  gone = entries_.Insert({}, key, std::move(artifact), bytes);
}

void MemoryStore::Remove(const Digest& key) {
  Lru::Entries gone;  // freed after the lock
  const MutexLock lock(mutex_);
  gone = entries_.Remove(key);
}

TierSize MemoryStore::size() const {
  const MutexLock lock(mutex_);
  return {entries_.size(), entries_.bytes()};
}

}  // namespace cccl_cache::daemon
