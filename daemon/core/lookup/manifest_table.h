// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <span>
#include <vector>

#include "base/lru.h"
#include "base/mutex.h"
#include "daemon/core/lookup/manifest.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/artifact.h"
#include "daemon/core/model/expiring_cache.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/tier.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// The manifests of all fingerprints, in the tiers. Thread-safe.
class ManifestTable {
 public:
  /// The tiers and users' own entries, which may be null, must outlive the table. `find_account` as
  /// in Manifest::Add.
  explicit ManifestTable(std::vector<Tier*> tiers, PrivateEntries* own = nullptr,
                         FindAccount find_account = {});

  /// Returns the shared manifest with the keys of all closures. Never null; empty without any
  /// closure.
  [[nodiscard]] std::shared_ptr<const Manifest> Find(const Digest& fingerprint);
  /// As Find, but does not wait for a disk. Null: the disk may have a manifest, or there is none.
  [[nodiscard]] std::shared_ptr<const Manifest> FindInMemory(const Digest& fingerprint);
  /// Adds a closure to the shared manifest. May wait for a disk. `compile_time` is that of the
  /// closure's artifact.
  void Add(const Digest& fingerprint, const KnownClosure& closure,
           std::chrono::microseconds compile_time);
  /// As Add, for several closures, of which the last becomes the newest, and without a wait for a
  /// disk. `known` is the result of Find, used if memory no longer has the manifest. Null if it is
  /// unknown; a manifest on a disk then does not change.
  void AddInMemory(const Digest& fingerprint, std::span<const KnownClosure> closures,
                   std::chrono::microseconds compile_time, const Manifest* known);
  /// Adds the closures of another node's manifest as AddInMemory does. Returns whether any of them
  /// was not known.
  bool Merge(const Digest& fingerprint, const Manifest& theirs, const Manifest* known);
  /// Returns another node's manifest without adding it. Never null.
  [[nodiscard]] static std::shared_ptr<const Manifest> Read(const Digest& fingerprint,
                                                            const Manifest& theirs);
  /// Returns the shared manifest for other nodes, without owners, which are users of this node.
  /// Null if memory has none.
  [[nodiscard]] std::shared_ptr<const Manifest> ForOtherNodes(const Digest& fingerprint);

  /// Returns the manifest for one user, with the user's own closures first.
  [[nodiscard]] UsersManifest FindFor(uid_t uid, const Digest& fingerprint);
  /// Adds a closure to the user's own manifest. `generation` and errors as in PrivateEntries::Put.
  Status AddFor(uid_t uid, const Digest& fingerprint, const KnownClosure& closure,
                std::chrono::microseconds compile_time, uint64_t generation);

 private:
  using ManifestPtr = std::shared_ptr<const Manifest>;
  struct Decoded {
    ArtifactPtr entry;
    ManifestPtr manifest;
  };
  using Lru = PerUserLru<Digest, Decoded, DigestHash>;
  /// Records which of these closures belong to users of containers.
  void NoteOwners(const Digest& fingerprint, std::span<const KnownClosure> closures);
  /// Returns the entry of the manifest with more closures, for the tiers.
  [[nodiscard]] ArtifactPtr EntryWith(Manifest manifest, std::span<const KnownClosure> closures,
                                      std::chrono::microseconds compile_time) const;
  /// Returns the manifest, or null if none of these tiers has one.
  [[nodiscard]] ManifestPtr FindIn(const std::vector<Tier*>& tiers, const Digest& fingerprint);
  /// Returns the shared manifest's entry in the tiers in memory, or null.
  [[nodiscard]] ArtifactPtr EntryInMemory(const Digest& fingerprint);
  /// Returns the user's own manifest, or null.
  [[nodiscard]] ManifestPtr FindOwn(uid_t uid, const Digest& fingerprint);
  /// Returns the decoded manifest. Empty if it is malformed. `place` is its key in `decoded_`.
  [[nodiscard]] ManifestPtr Decode(const Digest& place, const Digest& fingerprint,
                                   const ArtifactPtr& entry);

  const std::vector<Tier*> tiers_;
  const std::vector<Tier*> at_once_;
  PrivateEntries* const own_;
  const FindAccount find_account_;
  ExpiringCache<uid_t> of_containers_;  ///< owners that entries do not name, by closure key
  /// One mutex for each first byte of a fingerprint. Additions to one fingerprint run one at a
  /// time, so that none is lost.
  std::array<Mutex, 256> adding_;
  // The same for users' own manifests. Its holders wait for the disk, but no build waits for it.
  Mutex adding_own_;
  Mutex mutex_;
  /// Decoded manifests of entries, so that hits need not decode them again.
  Lru decoded_ GUARDED_BY(mutex_);
};

}  // namespace cccl_cache::daemon
