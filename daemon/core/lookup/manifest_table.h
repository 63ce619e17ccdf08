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

/// Reads and changes the manifests of all fingerprints. The manifests are in the tiers.
/// Thread-safe.
class ManifestTable {
 public:
  /// `tiers` and `own` must outlive the table. `own` has the entries of single users; may be null.
  /// `find_account` is as in Manifest::Add.
  explicit ManifestTable(std::vector<Tier*> tiers, PrivateEntries* own = nullptr,
                         FindAccount find_account = {});

  /// Returns the manifest that all users share, with the keys of its closures. Never null; empty if
  /// no closure is known. May wait for a disk.
  [[nodiscard]] std::shared_ptr<const Manifest> Find(const Digest& fingerprint);
  /// Like Find, but does not wait for a disk. If it returns null, the manifest may still be on the
  /// disk.
  [[nodiscard]] std::shared_ptr<const Manifest> FindInMemory(const Digest& fingerprint);
  /// Adds a closure to the shared manifest. `compile_time` is the time of the compile that made the
  /// closure's artifact. May wait for a disk.
  void Add(const Digest& fingerprint, const KnownClosure& closure,
           std::chrono::microseconds compile_time);
  /// Like Add, for several closures, the newest last, and without waiting for a disk. `known` is
  /// the manifest that Find returned before. It is extended if memory has lost the manifest. If
  /// `known` is null, only the manifest in memory is changed, so that none on the disk is
  /// overwritten.
  void AddInMemory(const Digest& fingerprint, std::span<const KnownClosure> closures,
                   std::chrono::microseconds compile_time, const Manifest* known);
  /// Adds the closures of another node's manifest that are not known yet, as AddInMemory does.
  /// Returns whether there were any.
  bool Merge(const Digest& fingerprint, const Manifest& theirs, const Manifest* known);
  /// Returns another node's manifest with the keys of its closures and without owners. Does not add
  /// it. Never null.
  [[nodiscard]] static std::shared_ptr<const Manifest> Read(const Digest& fingerprint,
                                                            const Manifest& theirs);
  /// Returns the shared manifest for other nodes, without owners, which are users of this node.
  /// Null if memory has none.
  [[nodiscard]] std::shared_ptr<const Manifest> ForOtherNodes(const Digest& fingerprint);

  /// Returns the manifest for one user: the closures that the user has inserted, then the shared
  /// ones. May wait for a disk.
  [[nodiscard]] UsersManifest FindFor(uid_t uid, const Digest& fingerprint);
  /// Adds a closure to the manifest of closures that this user has inserted. Waits for the disk.
  /// `generation` and the errors are as in PrivateEntries::Put.
  Status AddFor(uid_t uid, const Digest& fingerprint, const KnownClosure& closure,
                std::chrono::microseconds compile_time, uint64_t generation);

 private:
  using ManifestPtr = std::shared_ptr<const Manifest>;
  struct Decoded {
    ArtifactPtr entry;
    ManifestPtr manifest;
  };
  using Lru = PerUserLru<Digest, Decoded, DigestHash>;
  /// Remembers the owners of closures that are users of containers. Entries do not store them.
  void NoteOwners(const Digest& fingerprint, std::span<const KnownClosure> closures);
  /// Returns the entry of this manifest after `closures` were added.
  [[nodiscard]] ArtifactPtr EntryWith(Manifest manifest, std::span<const KnownClosure> closures,
                                      std::chrono::microseconds compile_time) const;
  /// Returns the shared manifest from the first of these tiers that has it. Null if none has it.
  [[nodiscard]] ManifestPtr FindIn(const std::vector<Tier*>& tiers, const Digest& fingerprint);
  /// Returns the entry of the shared manifest from the tiers in memory. Null if none has it.
  [[nodiscard]] ArtifactPtr EntryInMemory(const Digest& fingerprint);
  /// Returns the manifest of the closures that this user has inserted. Null if there is none.
  [[nodiscard]] ManifestPtr FindOwn(uid_t uid, const Digest& fingerprint);
  /// Returns the manifest in an entry. Empty if the entry is malformed. `place` is the key with
  /// which the result is kept in `decoded_`.
  [[nodiscard]] ManifestPtr Decode(const Digest& place, const Digest& fingerprint,
                                   const ArtifactPtr& entry);

  const std::vector<Tier*> tiers_;
  const std::vector<Tier*> at_once_;
  PrivateEntries* const own_;
  const FindAccount find_account_;
  ExpiringCache<uid_t> of_containers_;  ///< by key of the artifact: owners of closures that are
                                        ///< users of containers
  /// The mutex of a fingerprint is that of its first byte. It is locked during an addition, so that
  /// two additions to one manifest do not overwrite each other.
  std::array<Mutex, 256> adding_;
  // Locked during an addition to a manifest of one user. The thread waits for the disk, but no
  // build needs this mutex.
  Mutex adding_own_;
  Mutex mutex_;
  /// Keeps decoded manifests, so that a hit need not decode the entry again.
  Lru decoded_ GUARDED_BY(mutex_);
};

}  // namespace cccl_cache::daemon
