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

/// Remembers whether a closure matches the headers of a toolchain, for the last toolchain that was
/// checked. Several threads may use it at once. A copy remembers nothing, and all objects compare
/// equal, so that it does not affect copies and comparisons of closures.
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
  mutable std::atomic<uint64_t> known_{kNothing};  ///< serial of the toolchain * 2 + (1 if the
                                                   ///< closure matches)
};

/// A closure (all answers that the compiler got about files) of an earlier compile.
struct KnownClosure {
  Closure closure;
  /// Whether the output contains the names of its files. The artifact is then cached only under a
  /// key for the real names, and not under `key`.
  bool shows_paths = false;
  /// The uid for which a compile last had this closure. None if the closure came from another node.
  /// Uids that the daemon assigns to users of containers are not stored, because they mean other
  /// users after a restart.
  std::optional<uid_t> owner = std::nullopt;
  /// The key of the artifact. It is not stored. ManifestTable computes it once, when it decodes the
  /// manifest, because hashing thousands of names takes longer than the rest of a hit.
  Digest key = {};
  /// Remembers whether all entries match a toolchain. Used only if all of them are headers of a
  /// toolchain.
  TrueOfToolchain true_of = {};

  bool operator==(const KnownClosure&) const = default;
};

/// The closures of all known compiles of one fingerprint, the newest first. A build finds its
/// artifact by the closure that matches the caller's files. A closure without entries needs no
/// manifest, and is listed only if the output contains paths. The tiers store a manifest as an
/// entry with its own key, so that it is verified, limited and evicted like other entries.
struct Manifest {
  static constexpr size_t kMaxClosures = 64;
  /// Maximum number of closures of one account. So a user who edits headers displaces only closures
  /// of the same account. Closures without an owner are limited only by kMaxClosures.
  static constexpr size_t kMaxClosuresOfAccount = 8;
  /// Maximum size in bytes of all closures, as counted by BytesOf. One closure is never larger.
  static constexpr uint64_t kMaxBytes = 32u << 20;

  std::vector<KnownClosure> closures;
  /// The longest compile time of the artifacts that were found with this manifest. Without the
  /// manifest, they can't be found. So the tiers, which keep entries with longer compile times
  /// longer, must keep it as long as the artifacts.
  std::chrono::microseconds compile_time{0};

  /// Adds the closure as the newest one. A closure that is known already is moved. If the owner's
  /// account then has too many closures, its oldest one is dropped. If there are too many closures
  /// or bytes in total, the account with the most loses its oldest one. If containers together have
  /// more than half, it is an account of containers. Closures without an owner count as one
  /// account. If `find_account` is empty, each uid is its own account.
  void Add(KnownClosure closure, const FindAccount& find_account = {});

  /// Returns a closure that matches these files, or null. Closures of the requester's own user are
  /// checked first. `whose` says for each closure whether it is one of them. Reads files, and so
  /// may block as long as the file system does.
  [[nodiscard]] const KnownClosure* FindTrue(RequesterFiles& files,
                                             std::span<const ClosureOf> whose) const;
  /// Returns a closure that has only headers of a toolchain and matches this toolchain, or null.
  /// Reads no files. The comparison is made once for each toolchain.
  [[nodiscard]] const KnownClosure* FindTrueWith(const Toolchain& toolchain) const;

  /// Returns whether this manifest has a closure that `before` does not have, or that differs from
  /// it in `shows_paths`. All closures of both must have their keys.
  [[nodiscard]] bool SaysMoreThan(const Manifest& before) const;

  /// Returns whether a closure of this manifest leads to the artifact with this key.
  [[nodiscard]] bool Knows(const Digest& key) const {
    return std::ranges::find(closures, key, &KnownClosure::key) != closures.end();
  }

  bool operator==(const Manifest&) const = default;
};

/// The manifest of a fingerprint for one user. Both pointers are null if the manifest was not
/// looked up, or if the disk did not answer in time.
struct UsersManifest {
  std::shared_ptr<const Manifest> all;     ///< the closures that this user has inserted, then the
                                           ///< shared ones
  std::shared_ptr<const Manifest> shared;  ///< only the closures that all users share
};

/// Returns the key with which the tiers store the manifest of a fingerprint.
[[nodiscard]] Digest ManifestKey(const Digest& fingerprint);

[[nodiscard]] std::string EncodeManifest(const Manifest& manifest);
/// Returns none if the bytes are malformed. `bytes` may be untrusted.
[[nodiscard]] std::optional<Manifest> DecodeManifest(std::string_view bytes);

/// Returns the manifest as an artifact, to store it in tiers and send it to other nodes. The
/// artifact has no parts, and its log is the encoded manifest.
[[nodiscard]] ArtifactPtr EntryOf(const Manifest& manifest);
/// Returns the manifest of such an artifact. None if the artifact is not a valid manifest.
[[nodiscard]] std::optional<Manifest> ManifestIn(const Artifact& entry);

}  // namespace cccl_cache::daemon
