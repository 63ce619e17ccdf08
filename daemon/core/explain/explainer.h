// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/core/explain/difference.h"
#include "daemon/core/lookup/build_cache.h"
#include "daemon/core/lookup/eviction_log.h"
#include "daemon/core/lookup/history.h"
#include "daemon/core/lookup/manifest.h"
#include "daemon/core/model/requester_files.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/tier.h"
#include "daemon/core/plan/build_plan.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Why a build is, or was, compiled. The values are sent over the wire: they never change, and
/// equal those in admin.proto.
enum class Verdict : uint8_t {
  kHit = 1,          ///< it need not be compiled: `tier` has the artifact
  kNeverSeen = 2,    ///< this user has no similar earlier build
  kDiffers = 3,      ///< `differences` from the most similar earlier build are the reason
  kEvicted = 4,      ///< the entry was dropped at `since`, to free space or by an administrator
  kCorrupt = 5,      ///< the entry was dropped at `since`, because its checksum was wrong
  kShadowCheck = 6,  ///< its entry was dropped at `since`: a second compile gave other bytes
  kUncacheable = 7,  ///< the build is never cached; `reason` says why
  kFailed = 8,       ///< the compiler rejects the program; `reason` says why
  kNotKept = 9,      ///< the build was cached before; its entry is gone for an unknown reason
  /// The daemon has no record of a build of this user with this key, nor of an artifact with this
  /// key that the user got.
  kUnknownKey = 10,
};

/// An earlier build, described for the user.
struct EarlierBuild {
  Digest key;
  Outcome outcome = Outcome::kBuilt;
  std::chrono::system_clock::time_point time;
};

/// The answer to `explain`.
struct Explanation {
  Verdict verdict = Verdict::kNeverSeen;
  TierName tier = TierName::kNone;  ///< the tier that has the artifact now; kNone if no tier has it
  /// What each tier answered, in the order of a look-up, up to the tier that has the artifact.
  /// Empty if no tier was asked.
  std::vector<TierLook> tiers;
  std::string reason;
  /// When the entry was dropped. If OfKey finds no such event, when the build was compiled.
  std::optional<std::chrono::system_clock::time_point> since;
  std::optional<EarlierBuild> nearest;
  std::vector<Difference> differences;  ///< at most the first 32 differences
  size_t more_differences = 0;          ///< number of differences that are left out
};

/// A build that is a miss, with the user's earlier builds to compare it with.
struct Comparison {
  PastBuild mark;                         ///< the build itself
  PastBuildPtr same;                      ///< the user's last build with the same fingerprint; null
                                          ///< if there is none
  PastBuildPtr nearest;                   ///< the most similar earlier build; null if there is none
  std::vector<Difference> since_same;     ///< files that changed since `same`
  std::vector<Difference> since_nearest;  ///< files that changed since `nearest`

  /// Sets `since_same` and `since_nearest`. Reads the caller's files, and so may block as long as
  /// their file system does. Uses only this object and `files`.
  void LookAt(RequesterFiles& files);
};

/// Maximum number of keys with one prefix that are counted. If there are as many, the message says
/// "or more".
inline constexpr size_t kMaxCountedKeys = 16;
/// Returns the error which says that `count` keys of the asking user begin with this prefix.
[[nodiscard]] Error SeveralKeys(const DigestPrefix& prefix, size_t count);

/// Explains why a build was compiled or would be compiled. A user learns only about builds of the
/// same uid, and about entries for which the user has sent all inputs. Thread-safe.
class Explainer {
 public:
  using Done = std::function<void(Result<Explanation>)>;

  /// The objects must outlive the explainer. `answered` is null if the daemon does not record which
  /// artifacts each user got.
  Explainer(BuildCache& cache, const BuildHistory& history, const EvictionLog& eviction_log,
            AnsweredBuilds* answered)
      : cache_(cache), history_(history), eviction_log_(eviction_log), answered_(answered) {}

  /// Explains why the last build of this uid with this key was compiled, and what happened to its
  /// entry. If that build is not recorded, but the user got the entry, the explanation only says
  /// what happened to the entry. Returns kInvalidRequest if several keys of this user begin with
  /// `prefix`. Reads the daemon's disk, and so may block as long as the disk does.
  [[nodiscard]] Result<Explanation> OfKey(const DigestPrefix& prefix, uid_t uid) const;

  /// Returns the explanation of a hit in this tier.
  [[nodiscard]] Explanation OfHit(TierName tier) const;
  /// Returns what each tier of this node answered, up to the tier `last`, which has the artifact.
  /// If `last` is kNone, no tier has it.
  [[nodiscard]] std::vector<TierLook> Tiers(TierName last) const;

  /// Returns the earlier builds of this uid that are compared with a plan. Their files are not
  /// compared yet; Comparison::LookAt does this.
  [[nodiscard]] Comparison Compare(const BuildPlan& plan, uid_t uid) const;
  /// Explains why a build of this plan would be compiled. `manifest` has the known closures of its
  /// fingerprint; may be null. `closure` is the one that matches the user's files, whose artifact
  /// is missing; may be null.
  [[nodiscard]] Explanation OfMiss(const BuildPlan& plan, const Manifest* manifest,
                                   const KnownClosure* closure, Comparison comparison) const;

 private:
  [[nodiscard]] Explanation OfWholeKey(const Digest& key, uid_t uid) const;
  /// Returns the explanation of a key that is not in the history, but may be a key of an artifact
  /// that the user got.
  [[nodiscard]] Explanation Answered(const Digest& key, uid_t uid) const;
  /// Returns when and why the entry was dropped. None if the eviction log does not say.
  [[nodiscard]] std::optional<Explanation> GoneSince(const Digest& key) const;
  [[nodiscard]] std::optional<Explanation> GoneSince(const BuildPlan& plan,
                                                     const Manifest* manifest,
                                                     const KnownClosure* closure) const;

  BuildCache& cache_;
  const BuildHistory& history_;
  const EvictionLog& eviction_log_;
  AnsweredBuilds* const answered_;
};

}  // namespace cccl_cache::daemon
