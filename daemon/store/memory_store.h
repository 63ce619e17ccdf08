// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "daemon/core/model/artifact.h"
#include "daemon/core/model/tier.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// The first tier: artifacts in this process's memory, an LRU bounded in bytes. Artifacts were
/// verified before they came in. Thread-safe: one mutex, held for a look-up and a splice, some 100
/// ns; artifacts are freed outside of it.
class MemoryStore final : public Tier {
 public:
  explicit MemoryStore(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;

  TierName name() const override { return TierName::kMemory; }
  ArtifactPtr Get(const Digest& key) override;
  /// Tells a slower tier which entries are in use, although that tier is never asked for them.
  bool Holds(const Digest& key) override;
  /// Does not keep an artifact that is larger than the whole limit.
  void Put(const Digest& key, ArtifactPtr artifact) override;

  void Remove(const Digest& key) override;

  [[nodiscard]] TierSize size() const;

 private:
  struct Entry {
    Digest key;
    ArtifactPtr artifact;
    uint64_t bytes = 0;
  };
  using Entries = std::list<Entry>;

  /// Removes entries until `incoming` bytes fit, and returns them; the caller frees them after
  /// unlocking.
  Entries MakeRoom(uint64_t incoming);

  const uint64_t limit_bytes_;

  mutable std::mutex mutex_;
  Entries entries_;  ///< most recently used first; guarded by mutex_
  std::unordered_map<Digest, Entries::iterator, DigestHash> by_key_;  ///< guarded by mutex_
  uint64_t bytes_ = 0;                                                ///< guarded by mutex_
};

}  // namespace cccl_cache::daemon
