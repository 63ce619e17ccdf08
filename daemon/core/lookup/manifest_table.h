// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "daemon/core/lookup/manifest.h"
#include "daemon/core/model/artifact.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/tier.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// The manifests of all fingerprints, in the tiers. Thread-safe.
class ManifestTable {
 public:
  /// The tiers and users' own entries, which may be null, must outlive the table.
  explicit ManifestTable(std::vector<Tier*> tiers, PrivateEntries* own = nullptr)
      : tiers_(std::move(tiers)), at_once_(MemoryTiers(tiers_)), own_(own) {}

  /// Never null; empty if nothing is known. With the keys of all closures.
  [[nodiscard]] std::shared_ptr<const Manifest> Find(const Digest& fingerprint);
  /// The same without waiting for a disk. Null: that may have one, or nobody has.
  [[nodiscard]] std::shared_ptr<const Manifest> FindInMemory(const Digest& fingerprint);
  /// `compile_time`: of the artifact that the closure leads to.
  void Add(const Digest& fingerprint, const KnownClosure& closure,
           std::chrono::microseconds compile_time);
  /// The same without waiting for a disk. `known`: what Find said, for what memory has not any
  /// more; null: that is not known, so what a disk has of the fingerprint stays as it is there.
  void AddInMemory(const Digest& fingerprint, const KnownClosure& closure,
                   std::chrono::microseconds compile_time, const Manifest* known);

  /// The same as one user has it: what is that user's own comes first.
  [[nodiscard]] UsersManifest FindFor(uid_t uid, const Digest& fingerprint);
  /// To the user's own: see PrivateEntries::Put.
  Status AddFor(uid_t uid, const Digest& fingerprint, const KnownClosure& closure,
                std::chrono::microseconds compile_time, uint64_t generation);

 private:
  using ManifestPtr = std::shared_ptr<const Manifest>;
  struct Decoded {
    ArtifactPtr entry;
    ManifestPtr manifest;
  };
  /// Null: none of these tiers has one.
  [[nodiscard]] ManifestPtr FindIn(const std::vector<Tier*>& tiers, const Digest& fingerprint);
  /// Null: the user has none.
  [[nodiscard]] ManifestPtr FindOwn(uid_t uid, const Digest& fingerprint);
  /// `place`: where it is remembered.
  [[nodiscard]] ManifestPtr Decode(const Digest& place, const Digest& fingerprint,
                                   const ArtifactPtr& entry);
  void Remember(const Digest& place, Decoded decoded);

  const std::vector<Tier*> tiers_;
  const std::vector<Tier*> at_once_;
  PrivateEntries* const own_;
  /// Of a fingerprint one at a time, so that none gets lost; by its first byte.
  std::array<std::mutex, 256> adding_;
  std::mutex adding_own_;  // the same of users' own, which wait for the disk: no build waits for it
  std::mutex mutex_;
  /// What entries held when they were last read, so that hits need not decode them again.
  std::unordered_map<Digest, Decoded, DigestHash> decoded_;  // guarded by mutex_
  size_t decoded_bytes_ = 0;                                 // guarded by mutex_: of their entries
};

}  // namespace cccl_cache::daemon
