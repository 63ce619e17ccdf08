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

/// An input on which the compiler crashed twice. Immutable.
struct Quarantined {
  Error error;  ///< of the second time
  /// All answers to the compiler before its death: the files that made it crash.
  Closure closure;

  /// Returns whether this user's files are still the ones that the compiler died on. Blocks as long
  /// as the disk does.
  [[nodiscard]] bool IsStillSo(RequesterFiles& files) const {
    return FirstUntrue(closure, files, ClosureOf::kRequester) == closure.entries.size();
  }
  /// Returns the error that answers a build in place of another try.
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
  /// All answers to the compiler about files; empty if it asked for none outside the toolchain.
  Closure closure;

  /// Returns whether this user's files are still the ones that the program failed with. Blocks as
  /// long as the disk does.
  [[nodiscard]] bool IsStillSo(RequesterFiles& files) const {
    return FirstUntrue(closure, files, ClosureOf::kRequester) == closure.entries.size();
  }
};
using KnownFailurePtr = std::shared_ptr<const KnownFailure>;

/// The result of one flight, before its waiters are answered.
struct FlightResult {
  std::optional<Error> error;  ///< if none, `output` holds the result
  CompileOutput output;
  /// Charges the output's bytes to the requester's account while the result lives. Cached copies of
  /// the output are charged elsewhere.
  std::shared_ptr<const void> memory = nullptr;
  std::string uncacheable_reason;   ///< empty: may be cached
  TierName tier = TierName::kNone;  ///< tier that had it; kNone: not from a tier
  Digest key = {};                  ///< key under which it was found
  bool private_to_user = false;     ///< it was found among the user's own entries
  Closure closure;                  ///< all answers to the compiler about files
  /// The compiler asked for files outside the toolchain. Only requesters for whom the closure is
  /// true may have the result.
  bool looked_outside = false;
  bool toolchain_changed = false;  ///< before or during the compile
  bool shows_paths = false;        ///< the output shows canonical names: build with real paths
  /// A file outside names something that may show paths. The compile was ended early. The build
  /// uses real paths until it is proven that the output does not show them.
  bool may_show_paths = false;
  bool blames_input = false;  ///< the compiler died on it twice, each time by its own signal
  /// The sent files that the error came from or with; it is told to no other caller. Null: none.
  CallerFilesPtr failed_files = nullptr;
  bool files_were_sent = false;  ///< by the caller that the flight ran for
  std::chrono::steady_clock::time_point started;
  std::chrono::microseconds compile_time{0};

  /// Returns whether the plan rests on assumptions that no longer hold, so that the build must
  /// start again.
  [[nodiscard]] bool start_again() const {
    return toolchain_changed || shows_paths || may_show_paths;
  }
  [[nodiscard]] bool keepable() const {
    return uncacheable_reason.empty() && !error && !start_again() && tier == TierName::kNone;
  }
};

/// Returns what other nodes know an artifact of this plan by; `key`: that of the artifact.
[[nodiscard]] SharedEntry ArtifactEntryOf(const BuildPlan& plan, const Digest& key);
/// The same for the manifest of its fingerprint.
[[nodiscard]] SharedEntry ManifestEntryOf(const BuildPlan& plan);

/// The cache of earlier builds' results: artifacts and manifests in the tiers; failures and
/// expectations about programs in memory, until they expire. Thread-safe.
class BuildCache {
 public:
  struct Lifetimes {
    std::chrono::milliseconds failures{60'000};
    std::chrono::milliseconds quarantine{600'000};
  };

  /// `tiers` are in the order in which they are asked. The tiers, the eviction log, `own` and
  /// `cluster` must outlive the cache. `own` may be null: no user has entries of its own. `cluster`
  /// may be null: nothing is given to other nodes. `find_account`: as Manifest::Add has it.
  BuildCache(std::vector<Tier*> tiers, EvictionLog& eviction_log, const Lifetimes& lifetimes,
             PrivateEntries* own = nullptr, Cluster* cluster = nullptr,
             FindAccount find_account = {});

  /// Returns an artifact for one user as a finished result. The user's own entries come before the
  /// shared ones. Copies what it finds into the tiers above.
  [[nodiscard]] std::optional<FlightResult> Find(const Digest& key, uid_t uid);
  /// The same without waiting for a disk. Find may still find what this does not, if MayWait says
  /// so.
  [[nodiscard]] std::optional<FlightResult> FindInMemory(const Digest& key, uid_t uid);
  /// The same among the shared entries only.
  [[nodiscard]] std::optional<FlightResult> FindInMemory(const Digest& key);
  /// Returns whether Find may wait for a disk to find this for the user.
  [[nodiscard]] bool MayWait(const Digest& key, uid_t uid) const;
  /// The same for Find and ManifestOf of a plan.
  [[nodiscard]] bool MayWait(const BuildPlan& plan, uid_t uid) const;
  /// Returns the tier in which this user's build would find an artifact. An entry on a disk is read
  /// and verified.
  [[nodiscard]] std::optional<TierName> WhereIs(const Digest& key, uid_t uid);
  /// Returns the tiers of this node, in the order in which they are asked.
  [[nodiscard]] std::vector<TierName> Tiers() const;
  /// Returns the manifest as this user has it. Never null.
  [[nodiscard]] UsersManifest ManifestOf(const BuildPlan& plan, uid_t uid);
  /// The same without waiting for a disk. Null: the disk may have one, or there is none.
  [[nodiscard]] UsersManifest ManifestInMemory(const BuildPlan& plan, uid_t uid);
  /// Returns the artifact of a build that needs no look at files, from the shared entries in
  /// memory.
  [[nodiscard]] std::optional<FlightResult> FindClosedInMemory(const BuildPlan& plan);
  /// Returns the part of ManifestInMemory that all users share.
  [[nodiscard]] std::shared_ptr<const Manifest> SharedManifestInMemory(const BuildPlan& plan);
  /// Returns for each of a manifest's closures whether this user's own builds had it, as far as
  /// that is known.
  [[nodiscard]] std::vector<ClosureOf> WhoseClosures(const Manifest& manifest, uid_t uid);
  /// Records that a build of this user had the closure with this key.
  void NoteHad(const Digest& key, const Peer& peer);
  /// Returns the cached compile failure of this program, or null: one that came from nothing but
  /// the request, or this uid's last one. The latter counts as long as the files are the same.
  [[nodiscard]] KnownFailurePtr FailureOf(const BuildPlan& plan, uid_t uid);
  /// Returns the record of the compiler's death on this plan for this uid, or null. It is valid
  /// while the files are unchanged.
  [[nodiscard]] QuarantinedPtr QuarantineOf(const BuildPlan& plan, uid_t uid);

  /// Returns whether a compile of this plan asks, or probably asks, for files outside the
  /// toolchain.
  [[nodiscard]] bool LooksOutside(const BuildPlan& plan);
  /// Returns whether its output shows the paths of its files, or probably does. `closure`: the one
  /// in its manifest that is true for this user; may be null.
  [[nodiscard]] bool MayShowPaths(const BuildPlan& plan, uid_t uid, const KnownClosure* closure);

  /// Keeps all that a compile of this user's plan showed, and the artifact if it may be cached.
  /// Waits for no disk. `known`: what all users knew of the plan when it was looked up; null: the
  /// disk did not tell.
  void Keep(const BuildPlan& plan, const Peer& peer, const FlightResult& flight_result,
            const Manifest* known);
  /// Inserts an artifact from elsewhere for all users. kUnavailable: there is no room for it now.
  Result<Inserted> Insert(const Digest& fingerprint, const Closure& closure,
                          const ArtifactPtr& artifact);
  /// The same for one user: see PrivateEntries::Put.
  Result<Inserted> InsertFor(uid_t uid, const Digest& fingerprint, const Closure& closure,
                             const ArtifactPtr& artifact, uint64_t generation);
  /// Adds a manifest of this plan that another node made. Returns whether it holds closures that
  /// were not known. `known`: as for Keep. Waits for no disk.
  bool MergeManifest(const BuildPlan& plan, const ArtifactPtr& manifest, const Manifest* known);
  /// Returns the same manifest without keeping it. Never null.
  [[nodiscard]] std::shared_ptr<const Manifest> ReadManifest(const BuildPlan& plan,
                                                             const ArtifactPtr& manifest);
  /// Adds an artifact that another node compiled and that lay in this tier. Waits for no disk.
  void AddFromElsewhere(const Digest& key, const ArtifactPtr& artifact, TierName tier);
  /// Drops an artifact that a shadow check found wrong from all tiers.
  void Drop(const Digest& key);
  void NoteLooksOutside(const BuildPlan& plan, Account account);
  /// `compile_time`: that of the artifact under the real paths. `known`: as for Keep.
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
  ExpiringCache<KnownFailurePtr> failures_;   // by flight; over files outside: by uid as well
  ExpiringCache<QuarantinedPtr> quarantine_;  // by uid, fingerprint and view
  ExpiringCache<bool> looks_outside_;         // fingerprints whose compiles asked for outside files
  ExpiringCache<bool> may_show_paths_;  // by uid and fingerprint: programs whose files name paths
  ExpiringCache<bool> had_;             // by uid and key: closures that this user's builds had
};

}  // namespace cccl_cache::daemon
