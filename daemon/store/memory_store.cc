// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/memory_store.h"

#include <cassert>
#include <utility>

namespace cccl_cache::daemon {
namespace {

constexpr std::chrono::hours kTellUses{1};

}  // namespace

std::chrono::sys_seconds MemoryStore::WallTime() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

ArtifactPtr MemoryStore::Get(const Digest& key) {
  const std::chrono::sys_seconds now = now_();
  ArtifactPtr artifact;
  bool tell = false;
  {
    const MutexLock lock(mutex_);
    Kept* const found = entries_.Use(key);
    if (found == nullptr) return nullptr;
    artifact = found->artifact;
    found->used = now;
    // The first condition holds if the clock was set back. Without it no use would be reported
    // until the clock has reached the old time again.
    tell = now < found->told || now - found->told >= kTellUses;
    if (tell) found->told = now;
  }
  if (tell && on_use_) on_use_(key);
  return artifact;
}

bool MemoryStore::Holds(const Digest& key) {
  const MutexLock lock(mutex_);
  return entries_.Find(key) != nullptr;
}

void MemoryStore::Put(const Digest& key, ArtifactPtr artifact) {
  assert(artifact);
  constexpr uint64_t kBookkeeping = 160;  // bytes of a list node, a hash node and a bucket
  const uint64_t bytes = artifact->Footprint() + sizeof(Lru::Entry) + kBookkeeping;
  const std::chrono::sys_seconds now = now_();
  Lru::Entries gone;  // declared before the lock, so freed after the unlock
  const MutexLock lock(mutex_);
  gone = entries_.Insert({}, key, {std::move(artifact), now, now}, bytes);
}

void MemoryStore::Remove(const Digest& key) {
  Lru::Entries gone;  // declared before the lock, so freed after the unlock
  const MutexLock lock(mutex_);
  gone = entries_.Remove(key);
}

std::optional<std::chrono::sys_seconds> MemoryStore::LastUse(const Digest& key) const {
  const MutexLock lock(mutex_);
  const Lru::Entry* const found = entries_.Find(key);
  return found == nullptr ? std::nullopt : std::optional(found->value.used);
}

void MemoryStore::RemoveUnusedSince(
    std::chrono::sys_seconds time,
    const std::function<void(const Digest&, uint64_t bytes)>& removed_one) {
  // Removes in portions, so that a hit waits for the lock no longer than one portion takes.
  constexpr size_t kPortion = 256;
  size_t removed = kPortion;
  while (removed == kPortion) {
    removed = 0;
    Lru::Entries gone;
    {
      const MutexLock lock(mutex_);
      while (removed < kPortion && !entries_.users().empty()) {
        const Lru::Entry& oldest = entries_.users().begin()->second.oldest_first.front();
        if (oldest.value.used >= time) break;
        gone.splice(gone.end(), entries_.Remove(Digest(oldest.key)));
        ++removed;
      }
    }
    for (const Lru::Entry& entry : gone) {
      removed_one(entry.key, entry.value.artifact->Footprint());
    }
  }
}

TierSize MemoryStore::size() const {
  const MutexLock lock(mutex_);
  return {entries_.size(), entries_.bytes()};
}

}  // namespace cccl_cache::daemon
