// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "base/lru.h"
#include "base/mutex.h"
#include "daemon/core/model/artifact.h"
#include "daemon/core/model/tier.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// The first tier: an LRU cache of verified artifacts in this process's memory, limited in bytes.
/// Thread-safe. A look-up holds the mutex for some 100 ns. Artifacts are freed without the mutex.
class MemoryStore final : public Tier {
 public:
  /// Called when an entry is used, but at most once an hour for each entry. Called on any thread,
  /// without a lock. May be empty.
  using OnUse = std::function<void(const Digest&)>;

  using Now = std::function<std::chrono::sys_seconds()>;

  explicit MemoryStore(uint64_t limit_bytes, OnUse on_use = {}, Now now = WallTime)
      : on_use_(std::move(on_use)), now_(std::move(now)), entries_({.max_bytes = limit_bytes}) {}

  TierName name() const override { return TierName::kMemory; }
  ArtifactPtr Get(const Digest& key) override;
  /// Returns whether there is an entry with this key. Does not count as a use of the entry.
  bool Holds(const Digest& key) override;
  /// Keeps the artifact, unless it is larger than the limit of the tier.
  void Put(const Digest& key, ArtifactPtr artifact) override;
  void Remove(const Digest& key) override;

  /// Returns when the entry was last used, or none if there is no such entry. Does not count as a
  /// use.
  [[nodiscard]] std::optional<std::chrono::sys_seconds> LastUse(const Digest& key) const;
  /// Removes all entries that were last used before `time`. Calls `removed_one` for each, without
  /// the lock. `bytes` is the size of the entry's artifact.
  void RemoveUnusedSince(std::chrono::sys_seconds time,
                         const std::function<void(const Digest&, uint64_t bytes)>& removed_one);

  [[nodiscard]] TierSize size() const;

 private:
  struct Kept {
    ArtifactPtr artifact;
    std::chrono::sys_seconds used;
    std::chrono::sys_seconds told;  ///< time of the last use that was reported to on_use_
  };
  using Lru = PerUserLru<Digest, Kept, DigestHash>;
  [[nodiscard]] static std::chrono::sys_seconds WallTime();

  const OnUse on_use_;
  const Now now_;
  mutable Mutex mutex_;
  Lru entries_ GUARDED_BY(mutex_);
};

}  // namespace cccl_cache::daemon
