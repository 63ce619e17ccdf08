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

/// Caches whether something is true of the toolchain that was last asked about, for all threads.
/// Copies are empty, and all objects compare equal.
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

/// A closure that a compile of some fingerprint had.
struct KnownClosure {
  Closure closure;
  /// The output shows the names of its files. It is cached under the real names, not under these.
  bool shows_paths = false;
  /// The uid whose compile had it last; none: it came from elsewhere. Not stored if it is a user of
  /// a container, whose number means another in the next run of the daemon.
  std::optional<uid_t> owner = std::nullopt;
  /// Key of its artifact. Not stored, but computed once where the fingerprint is known
  /// (ManifestTable): hashing thousands of names takes longer than all the rest of a hit.
  Digest key = {};
  /// For a closure of only a toolchain's headers: whether all its entries are true.
  TrueOfToolchain true_of = {};

  bool operator==(const KnownClosure&) const = default;
};

/// The closures that compiles of one fingerprint had, the newest first. A closure without entries
/// is listed only if it shows paths. The tiers keep a manifest as an entry like any other, under a
/// key of its own: it is verified, bounded and evicted like them.
struct Manifest {
  static constexpr size_t kMaxClosures = 64;
  /// For one account: a user who edits headers evicts that user's older closures, not others'.
  /// Those without an owner are bounded by kMaxClosures alone.
  static constexpr size_t kMaxClosuresOfAccount = 8;
  /// For all closures together, as BytesOf counts. One closure alone fits in any case.
  static constexpr uint64_t kMaxBytes = 32u << 20;

  std::vector<KnownClosure> closures;
  /// The longest compile time of all artifacts that this manifest has led to. Without the manifest
  /// they can't be found, so the tiers value it as much as them. Stored as the compile time of the
  /// manifest's entry.
  std::chrono::microseconds compile_time{0};

  /// Puts the closure in front, whether it was listed before or not. If its account has too many,
  /// drops the oldest of these. If there are too many in all, or if they take too many bytes, drops
  /// the oldest of the account that has most; among those of containers if these would have more
  /// than a half together. Those without an owner count as one account. `find_account` may be
  /// empty: each uid counts as itself.
  void Add(KnownClosure closure, const FindAccount& find_account = {});

  /// Returns the first of the requester's own closures that is true in these files, else the first
  /// of others', or null. `whose`: one element for each closure. Blocks as long as the disk does.
  [[nodiscard]] const KnownClosure* FindTrue(RequesterFiles& files,
                                             std::span<const ClosureOf> whose) const;
  /// The same among closures that need no look at a file, because they hold only this toolchain's
  /// headers. The answer is computed once for a toolchain. Null: none is true.
  [[nodiscard]] const KnownClosure* FindTrueWith(const Toolchain& toolchain) const;

  /// Returns whether this one holds a closure that `before` does not, or differs on whether a
  /// closure shows paths. Both must have the keys of their closures.
  [[nodiscard]] bool SaysMoreThan(const Manifest& before) const;

  /// Returns whether it lists the closure whose artifact has this key.
  [[nodiscard]] bool Knows(const Digest& key) const {
    return std::ranges::find(closures, key, &KnownClosure::key) != closures.end();
  }

  bool operator==(const Manifest&) const = default;
};

/// The manifest of a fingerprint, as far as one user may use it. Null: it was not looked up, or the
/// disk did not answer.
struct UsersManifest {
  std::shared_ptr<const Manifest> all;     ///< the user's own closures come first
  std::shared_ptr<const Manifest> shared;  ///< the part that all users share
};

/// Returns the key under which the tiers keep the manifest of a fingerprint.
[[nodiscard]] Digest ManifestKey(const Digest& fingerprint);

[[nodiscard]] std::string EncodeManifest(const Manifest& manifest);
/// Returns none if anything is malformed. `bytes` may be untrusted.
[[nodiscard]] std::optional<Manifest> DecodeManifest(std::string_view bytes);

}  // namespace cccl_cache::daemon
