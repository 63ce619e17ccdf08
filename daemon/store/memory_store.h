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

/// The first tier: verified artifacts in this process's memory, an LRU bounded in bytes.
/// Thread-safe: one mutex, held some 100 ns for a look-up; artifacts are freed outside of it.
class MemoryStore final : public Tier {
 public:
  /// Called when an entry is used, at most once an hour for each entry, on any thread, without a
  /// lock. May be empty.
  using OnUse = std::function<void(const Digest&)>;

  using Now = std::function<std::chrono::sys_seconds()>;

  explicit MemoryStore(uint64_t limit_bytes, OnUse on_use = {}, Now now = WallTime)
      : on_use_(std::move(on_use)), now_(std::move(now)), entries_({.max_bytes = limit_bytes}) {}

  TierName name() const override { return TierName::kMemory; }
  ArtifactPtr Get(const Digest& key) override;
  /// Returns whether the entry is here; does not count as a use.
  bool Holds(const Digest& key) override;
  /// Does not keep an artifact that is larger than the limit.
  void Put(const Digest& key, ArtifactPtr artifact) override;
  void Remove(const Digest& key) override;

  /// Returns the time of the last use, or none without an entry. Does not count as a use.
  [[nodiscard]] std::optional<std::chrono::sys_seconds> LastUse(const Digest& key) const;
  /// Drops all entries that were last used before `time`, and calls `removed_one` for each, without
  /// the lock, with the size of its artifact in bytes.
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
