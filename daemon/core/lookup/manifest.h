// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/closure/closure.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/artifact.h"
#include "daemon/core/model/toolchain.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Caches whether something is true of the last toolchain, for all threads. Copies are empty, and
/// all objects compare equal.
class TrueOfToolchain {
 public:
  TrueOfToolchain() = default;
  TrueOfToolchain(const TrueOfToolchain& /*other*/) {}
  TrueOfToolchain& operator=(const TrueOfToolchain& /*other*/) {
    known_.store(kNothing, std::memory_order_relaxed);
    return *this;
  }
  bool operator==(const TrueOfToolchain& /*other*/) const { return true; }

  [[nodiscard]] std::optional<bool> Find(uint64_t serial) const {
    const uint64_t known = known_.load(std::memory_order_relaxed);
    if (known / 2 != serial) return std::nullopt;
    return known % 2 == 1;
  }
  void Remember(uint64_t serial, bool value) const {
    known_.store(serial * 2 + (value ? 1 : 0), std::memory_order_relaxed);
  }

 private:
  static constexpr uint64_t kNothing = ~uint64_t{0};
  mutable std::atomic<uint64_t> known_{kNothing};  ///< serial * 2 + whether it is true
};

/// The closure of a compile of some fingerprint.
struct KnownClosure {
  Closure closure;
  /// Whether the output shows the names of its files. It is then cached under the real names, not
  /// under these.
  bool shows_paths = false;
  /// The uid whose compile had the closure last. None if it came from another node. The uid of a
  /// container's user is not stored, because its number means another user in the next run of the
  /// daemon.
  std::optional<uid_t> owner = std::nullopt;
  /// Key of its artifact. Not stored, but computed once when the fingerprint is known
  /// (ManifestTable): hashing thousands of names takes longer than the rest of a hit.
  Digest key = {};
  /// For a closure that has only a toolchain's headers: whether all its entries are true.
  TrueOfToolchain true_of = {};

  bool operator==(const KnownClosure&) const = default;
};

/// The closures of the compiles of one fingerprint, the newest first. A closure without entries is
/// listed only if it shows paths. The tiers keep a manifest as an entry with its own key, so that
/// it is verified, bounded and evicted like other entries.
struct Manifest {
  static constexpr size_t kMaxClosures = 64;
  /// Limit of one account: a user who edits headers evicts that user's older closures, not those of
  /// others. Only kMaxClosures bounds closures without an owner.
  static constexpr size_t kMaxClosuresOfAccount = 8;
  /// Limit of all closures together, as counted by BytesOf. A single closure always fits.
  static constexpr uint64_t kMaxBytes = 32u << 20;

  std::vector<KnownClosure> closures;
  /// The longest compile time of all artifacts to which this manifest has led. Without the manifest
  /// they can't be found, so the tiers value it as much as them. Stored as the compile time of the
  /// manifest's entry.
  std::chrono::microseconds compile_time{0};

  /// Moves the closure to the front, or adds it there. If its account has too many closures, drops
  /// the oldest of these. If there are too many in total, or if they take too many bytes, drops the
  /// oldest closure of the account with the most. That account is one of containers if these would
  /// have more than a half together. Closures without an owner count as one account. `find_account`
  /// may be empty: each uid counts as its own account.
  void Add(KnownClosure closure, const FindAccount& find_account = {});

  /// Returns the first of the requester's own closures that is true in these files, else the first
  /// of other users' closures, or null. `whose` has one element per closure. Blocks as long as the
  /// disk does.
  [[nodiscard]] const KnownClosure* FindTrue(RequesterFiles& files,
                                             std::span<const ClosureOf> whose) const;
  /// As FindTrue, but among closures that need no look at a file, because they have only this
  /// toolchain's headers. The result is computed once per toolchain. Null if none is true.
  [[nodiscard]] const KnownClosure* FindTrueWith(const Toolchain& toolchain) const;

  /// Returns whether this manifest has a closure that `before` lacks, or differs on whether a
  /// closure shows paths. Both must have the keys of their closures.
  [[nodiscard]] bool SaysMoreThan(const Manifest& before) const;

  /// Returns whether the manifest has the closure whose artifact has this key.
  [[nodiscard]] bool Knows(const Digest& key) const {
    return std::ranges::find(closures, key, &KnownClosure::key) != closures.end();
  }

  bool operator==(const Manifest&) const = default;
};

/// The manifest of a fingerprint, as far as one user may use it. Null if it was not looked up, or
/// the disk did not answer.
struct UsersManifest {
  std::shared_ptr<const Manifest> all;     ///< with the user's own closures first
  std::shared_ptr<const Manifest> shared;  ///< the part that all users share
};

/// Returns the key of the manifest of a fingerprint in the tiers.
[[nodiscard]] Digest ManifestKey(const Digest& fingerprint);

[[nodiscard]] std::string EncodeManifest(const Manifest& manifest);
/// Returns none if the bytes are malformed. `bytes` may be untrusted.
[[nodiscard]] std::optional<Manifest> DecodeManifest(std::string_view bytes);

/// Returns the entry as which tiers keep a manifest and nodes send it: an artifact with nothing but
/// the encoded manifest as its log.
[[nodiscard]] ArtifactPtr EntryOf(const Manifest& manifest);
/// Returns none if the entry is no manifest.
[[nodiscard]] std::optional<Manifest> ManifestIn(const Artifact& entry);

}  // namespace cccl_cache::daemon
