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

/// A build on which the compiler has crashed twice. Immutable.
struct Quarantined {
  Error error;  ///< the error of the second crash
  /// All answers about files that the compiler got before it crashed.
  Closure closure;

  /// Returns whether this user's files are still the same as before the crash. Reads files, and so
  /// may block as long as the file system does.
  [[nodiscard]] bool IsStillSo(RequesterFiles& files) const {
    return FirstUntrue(closure, files, ClosureOf::kRequester) == closure.entries.size();
  }
  /// Returns the error for a build that is not compiled, because the compiler would crash again.
  [[nodiscard]] Error NotTriedAgain() const {
    Error answer = error;
    answer.message += "; it died twice on this input lately, so it was not tried again";
    return answer;
  }
};
using QuarantinedPtr = std::shared_ptr<const Quarantined>;

/// The output of a compile whose program was rejected by the compiler. Immutable.
struct KnownFailure {
  CompileOutput output;
  /// All answers about files that the compiler got. Empty if it asked for no file outside the
  /// toolchain.
  Closure closure;

  /// Returns whether this user's files are still the same as in that compile. Reads files, and so
  /// may block as long as the file system does.
  [[nodiscard]] bool IsStillSo(RequesterFiles& files) const {
    return FirstUntrue(closure, files, ClosureOf::kRequester) == closure.entries.size();
  }
};
using KnownFailurePtr = std::shared_ptr<const KnownFailure>;

/// The result of one flight (one compile for all callers that wait for it), before the callers are
/// answered.
struct FlightResult {
  std::optional<Error> error;  ///< if set, there is no `output`
  CompileOutput output;
  /// While this object lives, the output's bytes are charged to the account of the requester.
  /// Copies in the tiers are charged separately.
  std::shared_ptr<const void> memory = nullptr;
  std::string uncacheable_reason;   ///< why the result must not be cached; empty if it may be
  TierName tier = TierName::kNone;  ///< the tier that had the result; kNone if it was compiled
  Digest key = {};                  ///< the key with which the tier had the result
  bool private_to_user = false;     ///< whether the user has inserted the result for this user
                                    ///< alone
  Closure closure;                  ///< all answers about files that the compiler got
  /// Whether the compiler asked for files outside the toolchain. The result is then right only for
  /// requesters whose files match the closure.
  bool looked_outside = false;
  bool toolchain_changed = false;  ///< whether it changed on disk before or during the compile
  bool shows_paths = false;        ///< whether the output shows canonical names, so that the build
                                   ///< needs real paths
  /// Whether a file outside the toolchain contains something that may put paths into the output,
  /// such as __FILE__. The compile was then ended early. The build uses real paths until a compile
  /// proves that the output contains no paths.
  bool may_show_paths = false;
  bool blames_input = false;  ///< whether the compiler crashed twice on this input by its own
                              ///< signal
  /// The files of the caller whose failed answers caused the error or came with it. Only this
  /// caller gets the error. Null if there was no such answer.
  CallerFilesPtr failed_files = nullptr;
  bool files_were_sent = false;  ///< whether the caller of this compile sent its files
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

/// Returns the name that other nodes use for an artifact of this plan. `key` is the artifact's key.
[[nodiscard]] EntryName ArtifactNameOf(const BuildPlan& plan, const Digest& key);
/// Returns the name that other nodes use for the manifest of the plan's fingerprint.
[[nodiscard]] EntryName ManifestNameOf(const BuildPlan& plan);

/// Finds and stores the results of builds: artifacts and manifests in the tiers. Also keeps
/// failures, crashes and expectations about programs in memory, each for a limited time.
/// Thread-safe.
class BuildCache {
 public:
  struct Lifetimes {
    std::chrono::milliseconds failures{60'000};
    std::chrono::milliseconds quarantine{600'000};
  };

  /// Lookups ask `tiers` in their order. `own` has the entries of single users; null if there are
  /// none. `cluster` sends new entries to other nodes; null if there are none. `find_account` is as
  /// in Manifest::Add. All objects must outlive the cache.
  BuildCache(std::vector<Tier*> tiers, EvictionLog& eviction_log, const Lifetimes& lifetimes,
             PrivateEntries* own = nullptr, Cluster* cluster = nullptr,
             FindAccount find_account = {});

  /// Returns the artifact with this key for this user. Entries that the user has inserted come
  /// before shared entries. Copies an artifact that it finds in a slow tier into the faster tiers.
  /// May wait for a disk.
  [[nodiscard]] std::optional<FlightResult> Find(const Digest& key, uid_t uid);
  /// Like Find, but does not wait for a disk. If it finds nothing and MayWait returns true, Find
  /// may still find the artifact.
  [[nodiscard]] std::optional<FlightResult> FindInMemory(const Digest& key, uid_t uid);
  /// Like FindInMemory, but looks only at entries that all users share.
  [[nodiscard]] std::optional<FlightResult> FindInMemory(const Digest& key);
  /// Returns whether Find may wait for a disk.
  [[nodiscard]] bool MayWait(const Digest& key, uid_t uid) const;
  /// Returns whether Find or ManifestOf may wait for a disk for this plan.
  [[nodiscard]] bool MayWait(const BuildPlan& plan, uid_t uid) const;
  /// Returns the tier in which Find would find the artifact; none if it would not. If the entry is
  /// on a disk, reads and verifies it.
  [[nodiscard]] std::optional<TierName> WhereIs(const Digest& key, uid_t uid);
  /// Returns the tiers of this node, in the order in which they are asked.
  [[nodiscard]] std::vector<TierName> Tiers() const;
  /// Returns the manifest of the plan's fingerprint for this user. Its pointers are not null. May
  /// wait for a disk.
  [[nodiscard]] UsersManifest ManifestOf(const BuildPlan& plan, uid_t uid);
  /// Like ManifestOf, but does not wait for a disk. If the pointers are null, the disk may still
  /// have a manifest.
  [[nodiscard]] UsersManifest ManifestInMemory(const BuildPlan& plan, uid_t uid);
  /// Returns the artifact of a plan that can be found without reading files. Looks only at shared
  /// entries in memory.
  [[nodiscard]] std::optional<FlightResult> FindClosedInMemory(const BuildPlan& plan);
  /// Returns the part of ManifestInMemory that all users share; may be null.
  [[nodiscard]] std::shared_ptr<const Manifest> SharedManifestInMemory(const BuildPlan& plan);
  /// Returns for each closure of a manifest whether it is one of a build of this user, as far as
  /// the cache remembers.
  [[nodiscard]] std::vector<ClosureOf> WhoseClosures(const Manifest& manifest, uid_t uid);
  /// Records that a build of this user had the closure that leads to this key.
  void NoteHad(const Digest& key, const Peer& peer);
  /// Returns the cached failure of this plan, or null. A failure that depends only on the request
  /// is returned for all users. Otherwise it is the last failure for this uid, and the caller must
  /// check with IsStillSo that it is still valid.
  [[nodiscard]] KnownFailurePtr FailureOf(const BuildPlan& plan, uid_t uid);
  /// Returns the record that the compiler crashed on this plan for this uid, or null. The caller
  /// must check with IsStillSo that it is still valid.
  [[nodiscard]] QuarantinedPtr QuarantineOf(const BuildPlan& plan, uid_t uid);

  /// Returns whether a compile of this plan will probably read files outside the toolchain.
  [[nodiscard]] bool LooksOutside(const BuildPlan& plan);
  /// Returns whether the output of this plan probably contains the paths of its files. `closure` is
  /// the one in the plan's manifest that matches this user's files; may be null.
  [[nodiscard]] bool MayShowPaths(const BuildPlan& plan, uid_t uid, const KnownClosure* closure);

  /// Stores what the compile of this plan has shown, and its artifact if it may be cached. Does not
  /// wait for a disk. `known` is the shared manifest that the look-up found; null if the disk did
  /// not answer.
  void Keep(const BuildPlan& plan, const Peer& peer, const FlightResult& flight_result,
            const Manifest* known);
  /// Stores an artifact of a snapshot for all users. Returns kUnavailable if there is no room now.
  Result<Inserted> Insert(const Digest& fingerprint, const Closure& closure,
                          const ArtifactPtr& artifact);
  /// Stores an artifact of a snapshot for one user alone, as in PrivateEntries::Put.
  Result<Inserted> InsertFor(uid_t uid, const Digest& fingerprint, const Closure& closure,
                             const ArtifactPtr& artifact, uint64_t generation);
  /// Adds another node's manifest of this plan. Returns whether it has closures that were unknown.
  /// Does not wait for a disk. `known` is as in Keep.
  bool MergeManifest(const BuildPlan& plan, const Manifest& manifest, const Manifest* known);
  /// Returns another node's manifest with the keys of its closures, without storing it. Never null.
  [[nodiscard]] static std::shared_ptr<const Manifest> ReadManifest(const BuildPlan& plan,
                                                                    const Manifest& manifest);
  /// Stores an artifact of another node, which was found in the tier `tier`. Does not wait for a
  /// disk.
  void AddFromElsewhere(const Digest& key, const ArtifactPtr& artifact, TierName tier);
  /// Drops an artifact from all tiers, because a shadow check (a second compile) gave another
  /// result.
  void Drop(const Digest& key);
  void NoteLooksOutside(const BuildPlan& plan, Account account);
  /// `compile_time` is the time of the compile with real paths. `known` is as in Keep.
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
  ExpiringCache<KnownFailurePtr> failures_;   // by flight; failures that depend on files outside
                                              // the toolchain by flight and uid
  ExpiringCache<QuarantinedPtr> quarantine_;  // crashes by uid, fingerprint and view
  ExpiringCache<bool> looks_outside_;         // fingerprints whose compiles read files outside the
                                              // toolchain
  ExpiringCache<bool> may_show_paths_;  // by uid and fingerprint: files may put paths into the
                                        // output
  ExpiringCache<bool> had_;             // by uid and key: closures of this user's builds
};

}  // namespace cccl_cache::daemon
