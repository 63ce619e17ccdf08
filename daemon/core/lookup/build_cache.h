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
#include "daemon/core/model/artifact.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/expiring_cache.h"
#include "daemon/core/model/peer.h"
#include "daemon/core/model/requester_files.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/tier.h"
#include "daemon/core/plan/build_plan.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// An input that the compiler died on twice, each time by its own signal. Immutable.
struct Quarantined {
  Error error;      ///< of the second time
  Closure closure;  ///< what the compiler had been answered by then: the files that it died on

  /// Whether the compiler would be given these files of its user again. Blocks as long as the disk
  /// does.
  [[nodiscard]] bool IsStillSo(RequesterFiles& files) const {
    return FirstUntrue(closure, files, ClosureOf::kRequester) == closure.entries.size();
  }
  /// What is answered instead of trying it again.
  [[nodiscard]] Error NotTriedAgain() const {
    Error answer = error;
    answer.message += "; it died twice on this input lately, so it was not tried again";
    return answer;
  }
};
using QuarantinedPtr = std::shared_ptr<const Quarantined>;

/// What one flight came to, before it is told to each waiter.
struct FlightResult {
  std::optional<Error> error;  ///< otherwise output counts
  CompileOutput output;
  /// The output's bytes on the requester's account, while the result lasts: copies of the output
  /// that are remembered count elsewhere.
  std::shared_ptr<const void> memory = nullptr;
  std::string uncacheable_reason;   ///< empty: may be kept
  TierName tier = TierName::kNone;  ///< where it was found rather than compiled
  Digest key = {};                  ///< under which it was found
  bool private_to_user = false;     ///< it was found among the user's own entries
  Closure closure;                  ///< what the compiler was answered about files outside
  /// The compiler asked for files outside: only those for whom the closure is true may have it.
  bool looked_outside = false;
  bool toolchain_changed = false;  ///< before or during the compile
  bool shows_paths = false;        ///< the output shows canonical names: wants the real ones
  /// A file outside names something that may show paths: the compile was ended early, it wants the
  /// real ones until it is proven that the output does not show them.
  bool may_show_paths = false;
  bool blames_input = false;  ///< the compiler died on it twice, each time by its own signal
  /// The error came from, or with, the files that this caller sends: it is nobody else's.
  CallerFilesPtr failed_files = nullptr;
  bool files_were_sent = false;  ///< by the caller whom it was made for
  std::chrono::steady_clock::time_point started;
  std::chrono::microseconds compile_time{0};

  /// The plan was made on grounds that no longer hold.
  [[nodiscard]] bool start_again() const {
    return toolchain_changed || shows_paths || may_show_paths;
  }
  [[nodiscard]] bool keepable() const {
    return uncacheable_reason.empty() && !error && !start_again() && tier == TierName::kNone;
  }
};

/// What earlier builds left behind: artifacts and manifests in the tiers; failures, and what is to
/// be expected of a program, in memory for a while. Thread-safe.
class BuildCache {
 public:
  struct Lifetimes {
    std::chrono::seconds failures{60};
    std::chrono::seconds quarantine{600};
  };

  /// The tiers, in the order in which they are asked, the evictions and users' own entries must
  /// outlive the cache. `own` may be null: no user has any.
  BuildCache(std::vector<Tier*> tiers, EvictionLog& eviction_log, const Lifetimes& lifetimes,
             PrivateEntries* own = nullptr);

  /// An artifact for one user, whose own entries come before what all share, as a result that only
  /// has to be told. Puts what it finds into the tiers above.
  [[nodiscard]] std::optional<FlightResult> Find(const Digest& key, uid_t uid);
  /// The same without waiting for a disk: what it does not find, Find may, if MayWait says so.
  [[nodiscard]] std::optional<FlightResult> FindInMemory(const Digest& key, uid_t uid);
  /// Of what all users share.
  [[nodiscard]] std::optional<FlightResult> FindInMemory(const Digest& key);
  /// Whether Find may wait for a disk to find this for the user.
  [[nodiscard]] bool MayWait(const Digest& key, uid_t uid) const;
  /// The same of Find and ManifestOf, for a plan.
  [[nodiscard]] bool MayWait(const BuildPlan& plan, uid_t uid) const;
  /// In which tier this user's build would find an artifact: what lies on a disk is read, verified.
  [[nodiscard]] std::optional<TierName> WhereIs(const Digest& key, uid_t uid);
  /// As this user has it. Never null.
  [[nodiscard]] UsersManifest ManifestOf(const BuildPlan& plan, uid_t uid);
  /// The same without waiting for a disk. Null: that may have one, or nobody has.
  [[nodiscard]] UsersManifest ManifestInMemory(const BuildPlan& plan, uid_t uid);
  /// The artifact of a build that needs no look at files: from memory, of what all users share.
  [[nodiscard]] std::optional<FlightResult> FindClosedInMemory(const BuildPlan& plan);
  /// The part of ManifestInMemory that all users share.
  [[nodiscard]] std::shared_ptr<const Manifest> SharedManifestInMemory(const BuildPlan& plan);
  /// Which of a manifest's closures this user's own builds had, as far as that is known.
  [[nodiscard]] std::vector<ClosureOf> WhoseClosures(const Manifest& manifest, uid_t uid);
  /// A build of this user had a closure: the one of this key.
  void NoteHad(const Digest& key, const Peer& peer);
  /// A compile failure of this program that came from nothing but the request.
  [[nodiscard]] std::optional<CompileOutput> FailureOf(const BuildPlan& plan);
  /// What the compiler died on when this uid built this plan last. It counts as long as the files
  /// are those. Null: nothing.
  [[nodiscard]] QuarantinedPtr QuarantineOf(const BuildPlan& plan, uid_t uid);

  /// Whether a compile of this plan asks, or probably asks, for files outside the toolchain.
  [[nodiscard]] bool LooksOutside(const BuildPlan& plan);
  /// Whether its output shows the paths of its files, or probably does. `closure`: of its manifest,
  /// the one that is true for this user; may be null.
  [[nodiscard]] bool MayShowPaths(const BuildPlan& plan, uid_t uid, const KnownClosure* closure);

  /// Whatever can be learnt from a compile of this user's plan; the artifact too, if it may be
  /// kept. Waits for no disk. `known`: what all users knew of the plan when it was looked up; null:
  /// the disk did not tell.
  void Keep(const BuildPlan& plan, const Peer& peer, const FlightResult& flight_result,
            const Manifest* known);
  /// An artifact from elsewhere, for all users. kUnavailable: there is no room for it now.
  Result<Inserted> Insert(const Digest& fingerprint, const Closure& closure,
                          const ArtifactPtr& artifact);
  /// The same for one user: see PrivateEntries::Put.
  Result<Inserted> InsertFor(uid_t uid, const Digest& fingerprint, const Closure& closure,
                             const ArtifactPtr& artifact, uint64_t generation);
  /// An artifact that a shadow check found wrong.
  void Drop(const Digest& key);
  void NoteLooksOutside(const BuildPlan& plan, Account account);
  /// `compile_time`: of the artifact under the real paths. `known`: as above.
  void NoteShowsPaths(const BuildPlan& plan, uid_t uid, const Closure& closure,
                      std::chrono::microseconds compile_time, const Manifest* known);

 private:
  [[nodiscard]] bool MayHaveOwn(uid_t uid, const Digest& key) const {
    return own_ != nullptr && own_->MayHave(uid, key);
  }

  const std::vector<Tier*> tiers_;
  const std::vector<Tier*> at_once_;
  PrivateEntries* const own_;
  EvictionLog& eviction_log_;
  ManifestTable manifests_;
  ExpiringCache<CompileOutput> failures_;     // by flight
  ExpiringCache<QuarantinedPtr> quarantine_;  // by uid, fingerprint and view
  ExpiringCache<bool> looks_outside_;         // fingerprints whose compiles asked for outside files
  ExpiringCache<bool> may_show_paths_;        // fingerprints and sets of -I whose files name paths
  ExpiringCache<bool> had_;  // by uid and key: closures that this user's builds had
};

}  // namespace cccl_cache::daemon
