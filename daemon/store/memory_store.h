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

/// The first tier: artifacts in this process's memory, an LRU bounded in bytes. Artifacts were
/// verified before they came in. Thread-safe: one mutex, held for a look-up and a splice, some 100
/// ns; artifacts are freed outside of it.
class MemoryStore final : public Tier {
 public:
  /// Called for the use of an entry, at most once an hour for each. Called on any thread, without a
  /// lock. May be empty.
  using OnUse = std::function<void(const Digest&)>;

  using Now = std::function<std::chrono::sys_seconds()>;

  explicit MemoryStore(uint64_t limit_bytes, OnUse on_use = {}, Now now = WallTime)
      : on_use_(std::move(on_use)), now_(std::move(now)), entries_({.max_bytes = limit_bytes}) {}

  TierName name() const override { return TierName::kMemory; }
  ArtifactPtr Get(const Digest& key) override;
  /// Lets a slower tier know which entries are in use, although that tier is not asked for them.
  bool Holds(const Digest& key) override;
  /// Does not keep an artifact that is larger than the whole limit.
  void Put(const Digest& key, ArtifactPtr artifact) override;
  void Remove(const Digest& key) override;

  /// Returns when the entry was last used, or none if it is not here. Does not count as a use.
  [[nodiscard]] std::optional<std::chrono::sys_seconds> LastUse(const Digest& key) const;
  /// Drops all entries that were last used before this time, and calls `removed_one` for each,
  /// without the lock, with the size of its artifact in bytes.
  void RemoveUnusedSince(std::chrono::sys_seconds time,
                         const std::function<void(const Digest&, uint64_t bytes)>& removed_one);

  [[nodiscard]] TierSize size() const;

 private:
  struct Kept {
    ArtifactPtr artifact;
    std::chrono::sys_seconds used;
    std::chrono::sys_seconds told;  ///< the last use that on_use_ reported
  };
  using Lru = PerUserLru<Digest, Kept, DigestHash>;
  [[nodiscard]] static std::chrono::sys_seconds WallTime();

  const OnUse on_use_;
  const Now now_;
  mutable Mutex mutex_;
  Lru entries_ GUARDED_BY(mutex_);
};

}  // namespace cccl_cache::daemon
