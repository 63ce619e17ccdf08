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

/// The first tier: artifacts in this process's memory, least recently used out first, bounded in
/// bytes. What lies here was verified when it came in. Thread-safe: one mutex, held for a look-up
/// and a splice, some 100 ns; artifacts are freed outside of it.
class MemoryStore final : public Tier {
 public:
  explicit MemoryStore(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;

  TierName name() const override { return TierName::kMemory; }
  ArtifactPtr Get(const Digest& key) override;
  /// Tells a slower tier what is in use although it is never asked for it.
  bool Holds(const Digest& key) override;
  /// An artifact larger than the whole bound is not kept.
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

  /// Takes out what must go so that `incoming` bytes fit; the caller frees it after unlocking.
  Entries MakeRoom(uint64_t incoming);

  const uint64_t limit_bytes_;

  mutable std::mutex mutex_;
  Entries entries_;  ///< most recently used first; guarded by mutex_
  std::unordered_map<Digest, Entries::iterator, DigestHash> by_key_;  ///< guarded by mutex_
  uint64_t bytes_ = 0;                                                ///< guarded by mutex_
};

}  // namespace cccl_cache::daemon
