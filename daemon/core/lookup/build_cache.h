// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/core/closure/closure.h"
#include "daemon/core/lookup/eviction_log.h"
#include "daemon/core/lookup/manifest_table.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/artifact.h"
#include "daemon/core/model/cluster.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/expiring_cache.h"
#include "daemon/core/model/requester_files.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/tier.h"
#include "daemon/core/plan/build_plan.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// An input on which the compiler has crashed twice. Immutable.
struct Quarantined {
  Error error;  ///< of the second crash
  /// All answers to the compiler before the crash: the files that made it crash.
  Closure closure;

  /// Returns whether this user's files are still the files on which the compiler crashed. Blocks as
  /// long as the disk does.
  [[nodiscard]] bool IsStillSo(RequesterFiles& files) const {
    return FirstUntrue(closure, files, ClosureOf::kRequester) == closure.entries.size();
  }
  /// Returns the error that answers a build instead of another attempt.
  [[nodiscard]] Error NotTriedAgain() const {
    Error answer = error;
    answer.message += "; it died twice on this input lately, so it was not tried again";
    return answer;
  }
};
using QuarantinedPtr = std::shared_ptr<const Quarantined>;

/// The output of a program that did not compile. Immutable.
struct KnownFailure {
  CompileOutput output;
  /// All answers to the compiler about files. Empty if it asked for none outside the toolchain.
  Closure closure;

  /// Returns whether this user's files are still the files with which the program failed. Blocks as
  /// long as the disk does.
  [[nodiscard]] bool IsStillSo(RequesterFiles& files) const {
    return FirstUntrue(closure, files, ClosureOf::kRequester) == closure.entries.size();
  }
};
using KnownFailurePtr = std::shared_ptr<const KnownFailure>;

/// The result of one flight, before its waiters are answered.
struct FlightResult {
  std::optional<Error> error;  ///< if none, `output` has the result
  CompileOutput output;
  /// Charges the output's bytes to the requester's account while the result lives. Cached copies of
  /// the output are charged separately.
  std::shared_ptr<const void> memory = nullptr;
  std::string uncacheable_reason;   ///< empty if the result may be cached
  TierName tier = TierName::kNone;  ///< the tier that had it; kNone if no tier had it
  Digest key = {};                  ///< the key under which it was found
  bool private_to_user = false;     ///< whether it is one of the user's own entries
  Closure closure;                  ///< all answers to the compiler about files
  /// Whether the compiler asked for files outside the toolchain. Only requesters for whom the
  /// closure is true may have the result then.
  bool looked_outside = false;
  bool toolchain_changed = false;  ///< before or during the compile
  bool shows_paths = false;        ///< whether the output shows canonical names, so that the build
                                   ///< needs real paths
  /// Whether a file outside the toolchain names something that may show paths, so that the compile
  /// was ended early. The build uses real paths until it is proven that the output does not show
  /// them.
  bool may_show_paths = false;
  bool blames_input = false;  ///< whether the compiler crashed on it twice, each time by its own
                              ///< signal
  /// The sent files that caused the error or came with it. No other caller gets the error. Null for
  /// none.
  CallerFilesPtr failed_files = nullptr;
  bool files_were_sent = false;  ///< whether the flight's caller sent its files
  std::chrono::steady_clock::time_point started;
  std::chrono::microseconds compile_time{0};

  /// Returns whether assumptions of the plan no longer hold, so that the build must start again.
  [[nodiscard]] bool start_again() const {
    return toolchain_changed || shows_paths || may_show_paths;
  }
  [[nodiscard]] bool keepable() const {
    return uncacheable_reason.empty() && !error && !start_again() && tier == TierName::kNone;
  }
};

/// Returns the name of a plan's artifact for other nodes. `key` is the key of the artifact.
[[nodiscard]] EntryName ArtifactNameOf(const BuildPlan& plan, const Digest& key);
/// The same for the manifest of the plan's fingerprint.
[[nodiscard]] EntryName ManifestNameOf(const BuildPlan& plan);

/// The cache of earlier builds' results: artifacts and manifests in the tiers, and failures and
/// expectations about programs in memory until they expire. Thread-safe.
class BuildCache {
 public:
  struct Lifetimes {
    std::chrono::milliseconds failures{60'000};
    std::chrono::milliseconds quarantine{600'000};
  };

  /// `tiers` are in the order in which they are asked. The tiers, the eviction log, `own` and
  /// `cluster` must outlive the cache. `own` may be null: no user has entries of its own. `cluster`
  /// may be null: other nodes get no entries. `find_account` as in Manifest::Add.
  BuildCache(std::vector<Tier*> tiers, EvictionLog& eviction_log, const Lifetimes& lifetimes,
             PrivateEntries* own = nullptr, Cluster* cluster = nullptr,
             FindAccount find_account = {});

  /// Returns an artifact for one user as a finished result. The user's own entries come before the
  /// shared entries. Copies a found entry into the faster tiers.
  [[nodiscard]] std::optional<FlightResult> Find(const Digest& key, uid_t uid);
  /// As Find, but does not wait for a disk. Find may find more if MayWait returns true.
  [[nodiscard]] std::optional<FlightResult> FindInMemory(const Digest& key, uid_t uid);
  /// As FindInMemory, but only among the shared entries.
  [[nodiscard]] std::optional<FlightResult> FindInMemory(const Digest& key);
  /// Returns whether Find may wait for a disk for this user.
  [[nodiscard]] bool MayWait(const Digest& key, uid_t uid) const;
  /// The same for Find and ManifestOf of a plan.
  [[nodiscard]] bool MayWait(const BuildPlan& plan, uid_t uid) const;
  /// Returns the tier in which this user's build would find an artifact. Reads and verifies an
  /// entry on a disk.
  [[nodiscard]] std::optional<TierName> WhereIs(const Digest& key, uid_t uid);
  /// Returns the tiers of this node, in the order in which they are asked.
  [[nodiscard]] std::vector<TierName> Tiers() const;
  /// Returns the manifest with this user's closures. Never null.
  [[nodiscard]] UsersManifest ManifestOf(const BuildPlan& plan, uid_t uid);
  /// As ManifestOf, but does not wait for a disk. Null: the disk may have a manifest, or there is
  /// none.
  [[nodiscard]] UsersManifest ManifestInMemory(const BuildPlan& plan, uid_t uid);
  /// Returns the artifact of a build that needs no look at files, from the shared entries in
  /// memory.
  [[nodiscard]] std::optional<FlightResult> FindClosedInMemory(const BuildPlan& plan);
  /// Returns the part of ManifestInMemory that all users share.
  [[nodiscard]] std::shared_ptr<const Manifest> SharedManifestInMemory(const BuildPlan& plan);
  /// Returns for each closure of a manifest whether this user's own builds had it, as far as known.
  [[nodiscard]] std::vector<ClosureOf> WhoseClosures(const Manifest& manifest, uid_t uid);
  /// Records that a build of this user had the closure with this key.
  void NoteHad(const Digest& key, const Peer& peer);
  /// Returns the cached compile failure of this program, or null. It is a failure that depends only
  /// on the request, or this uid's last failure, which counts as long as its files have not
  /// changed.
  [[nodiscard]] KnownFailurePtr FailureOf(const BuildPlan& plan, uid_t uid);
  /// Returns the record of the compiler's crash on this plan for this uid, or null. It is valid
  /// while its files have not changed.
  [[nodiscard]] QuarantinedPtr QuarantineOf(const BuildPlan& plan, uid_t uid);

  /// Returns whether a compile of this plan asks, or probably asks, for files outside the
  /// toolchain.
  [[nodiscard]] bool LooksOutside(const BuildPlan& plan);
  /// Returns whether the plan's output shows the paths of its files, or probably does. `closure` is
  /// the true closure of its manifest for this user; may be null.
  [[nodiscard]] bool MayShowPaths(const BuildPlan& plan, uid_t uid, const KnownClosure* closure);

  /// Keeps all facts that a compile of this user's plan has shown, and the artifact if it may be
  /// cached. Waits for no disk. `known` is the shared manifest at the look-up. Null if the disk did
  /// not answer.
  void Keep(const BuildPlan& plan, const Peer& peer, const FlightResult& flight_result,
            const Manifest* known);
  /// Inserts an artifact from another source for all users. kUnavailable: there is no room for it
  /// now.
  Result<Inserted> Insert(const Digest& fingerprint, const Closure& closure,
                          const ArtifactPtr& artifact);
  /// The same for one user: see PrivateEntries::Put.
  Result<Inserted> InsertFor(uid_t uid, const Digest& fingerprint, const Closure& closure,
                             const ArtifactPtr& artifact, uint64_t generation);
  /// Adds another node's manifest of this plan. Returns whether it has closures that were not
  /// known. `known` as in Keep. Waits for no disk.
  bool MergeManifest(const BuildPlan& plan, const Manifest& manifest, const Manifest* known);
  /// Returns another node's manifest without keeping it. Never null.
  [[nodiscard]] static std::shared_ptr<const Manifest> ReadManifest(const BuildPlan& plan,
                                                                    const Manifest& manifest);
  /// Adds an artifact of another node that was in this tier. Waits for no disk.
  void AddFromElsewhere(const Digest& key, const ArtifactPtr& artifact, TierName tier);
  /// Drops an artifact that a shadow check found wrong, from all tiers.
  void Drop(const Digest& key);
  void NoteLooksOutside(const BuildPlan& plan, Account account);
  /// `compile_time` is that of the artifact under the real paths. `known` as in Keep.
  void NoteShowsPaths(const BuildPlan& plan, const Peer& peer, const Closure& closure,
                      std::chrono::microseconds compile_time, const Manifest* known);

 private:
  void ShareManifest(const BuildPlan& plan, Account account);
  void RememberFailure(const BuildPlan& plan, const Peer& peer, const FlightResult& flight_result);
  [[nodiscard]] bool MayHaveOwn(uid_t uid, const Digest& key) const {
    return own_ != nullptr && own_->MayHave(uid, key);
  }

  const std::vector<Tier*> tiers_;
  const std::vector<Tier*> at_once_;
  PrivateEntries* const own_;
  Cluster* const cluster_;
  EvictionLog& eviction_log_;
  ManifestTable manifests_;
  ExpiringCache<KnownFailurePtr> failures_;   // by flight; failures that depend on outside files
                                              // also by uid
  ExpiringCache<QuarantinedPtr> quarantine_;  // by uid, fingerprint and view
  ExpiringCache<bool> looks_outside_;         // fingerprints whose compiles asked for files outside
                                              // the toolchain
  ExpiringCache<bool> may_show_paths_;  // by uid and fingerprint: programs whose files name paths
  ExpiringCache<bool> had_;             // by uid and key: closures of this user's builds
};

}  // namespace cccl_cache::daemon
