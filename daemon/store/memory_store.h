// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

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
  explicit MemoryStore(uint64_t limit_bytes) : entries_({.max_bytes = limit_bytes}) {}

  TierName name() const override { return TierName::kMemory; }
  ArtifactPtr Get(const Digest& key) override;
  /// Tells a slower tier which entries are in use, although that tier is never asked for them.
  bool Holds(const Digest& key) override;
  /// Does not keep an artifact that is larger than the whole limit.
  void Put(const Digest& key, ArtifactPtr artifact) override;
  void Remove(const Digest& key) override;

  [[nodiscard]] TierSize size() const;

 private:
  using Lru = PerUserLru<Digest, ArtifactPtr, DigestHash>;

  mutable Mutex mutex_;
  Lru entries_ GUARDED_BY(mutex_);
};

}  // namespace cccl_cache::daemon
