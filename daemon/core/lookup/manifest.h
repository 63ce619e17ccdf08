// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

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
#include "daemon/core/model/artifact.h"
#include "daemon/core/model/toolchain.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Remembers of the toolchain that was asked for last whether something is true of it, for all
/// threads. Copies remember nothing, and all are equal.
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
  /// The output shows the names of its files: it is kept under the real ones, not under these.
  bool shows_paths = false;
  /// Whose compile had it last; none: it came with a snapshot.
  std::optional<uid_t> owner = std::nullopt;
  /// Of the artifact that is made of it: not written down, computed once where the fingerprint is
  /// known (ManifestTable), for hashing thousands of names takes longer than all else of a hit.
  Digest key = {};
  /// Of a closure of nothing but a toolchain's headers: whether all that it says is true.
  TrueOfToolchain true_of = {};

  bool operator==(const KnownClosure&) const = default;
};

/// What is known of a fingerprint besides its artifacts: the closures that compiles of it had, the
/// newest first. One without entries stands here only if it shows paths. The tiers keep it as an
/// entry like any other, under a key of its own: it is verified, bounded and evicted like them.
struct Manifest {
  static constexpr size_t kMaxClosures = 64;
  /// Of one owner: the headers that a user edits push out that user's older closures, not others'.
  static constexpr size_t kMaxClosuresOfOwner = 8;
  /// Of all closures together, as BytesOf counts: one has room in any case.
  static constexpr uint64_t kMaxBytes = 32u << 20;

  std::vector<KnownClosure> closures;
  /// The longest compile time of all artifacts that this manifest has led to. Without the manifest
  /// they can't be found, so the tiers are told to value it as much. Stored as that of its entry.
  std::chrono::microseconds compile_time{0};

  /// Puts the closure in front, where it was already or not; the oldest go where its owner, or all,
  /// have too many or they take too much.
  void Add(KnownClosure closure);

  /// The first of the requester's own that is true in these files, else of others'; null if none
  /// is. `whose`: of each closure. Blocks as long as the disk does.
  [[nodiscard]] const KnownClosure* FindTrue(RequesterFiles& files,
                                             std::span<const ClosureOf> whose) const;
  /// The same of those that need no look at a file: nothing but this toolchain's headers is in
  /// them. Found out once for a toolchain. Null: none is true.
  [[nodiscard]] const KnownClosure* FindTrueWith(const Toolchain& toolchain) const;

  /// Whether this one holds a closure that `before` does not, or knows of one that it shows paths.
  /// Both with the keys of their closures.
  [[nodiscard]] bool SaysMoreThan(const Manifest& before) const;

  bool operator==(const Manifest&) const = default;
};

/// What one user knows of a fingerprint; null: nobody looked, or the disk did not tell.
struct UsersManifest {
  std::shared_ptr<const Manifest> all;     ///< what is that user's own comes first
  std::shared_ptr<const Manifest> shared;  ///< of that, what all users know
};

/// Under which the tiers keep the manifest of a fingerprint.
[[nodiscard]] Digest ManifestKey(const Digest& fingerprint);

[[nodiscard]] std::string EncodeManifest(const Manifest& manifest);
/// None if anything is malformed. `bytes` may come from anybody.
[[nodiscard]] std::optional<Manifest> DecodeManifest(std::string_view bytes);

}  // namespace cccl_cache::daemon
