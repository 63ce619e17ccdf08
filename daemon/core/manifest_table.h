// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "daemon/core/artifact.h"
#include "daemon/core/manifest.h"
#include "daemon/core/tier.h"
#include "proto/digest.h"

namespace cccl_cached {

/// The manifests of all fingerprints, in the tiers. Thread-safe.
class ManifestTable {
 public:
  /// The tiers must outlive the table.
  explicit ManifestTable(std::vector<Tier*> tiers) : tiers_(std::move(tiers)) {}

  /// Never null; empty if nothing is known. With the keys of all closures.
  [[nodiscard]] std::shared_ptr<const Manifest> Find(const cccl_cache::Digest& fingerprint);
  void Add(const cccl_cache::Digest& fingerprint, const KnownClosure& closure);

 private:
  using ManifestPtr = std::shared_ptr<const Manifest>;
  struct Decoded {
    ArtifactPtr entry;
    ManifestPtr manifest;
  };
  [[nodiscard]] ManifestPtr Decode(const cccl_cache::Digest& fingerprint, const ArtifactPtr& entry);
  void Remember(const cccl_cache::Digest& fingerprint, Decoded decoded);

  const std::vector<Tier*> tiers_;
  std::mutex adding_;  // one at a time: none gets lost
  std::mutex mutex_;
  /// What entries held when they were last read, so that hits need not decode them again.
  std::unordered_map<cccl_cache::Digest, Decoded, cccl_cache::DigestHash>
      decoded_;               // guarded by mutex_
  size_t decoded_bytes_ = 0;  // guarded by mutex_: of their entries
};

}  // namespace cccl_cached
