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

/// Why a build is, or was, compiled. Sent over the wire: values never change, and equal those in
/// admin.proto.
enum class Verdict : uint8_t {
  kHit = 1,          ///< it is not compiled: `tier` has it
  kNeverSeen = 2,    ///< no earlier build of this user is similar
  kDiffers = 3,      ///< `differences` from the most similar earlier build
  kEvicted = 4,      ///< its entry was dropped at `since`: for the limit, or by an administrator
  kCorrupt = 5,      ///< its entry had a wrong checksum at `since`
  kShadowCheck = 6,  ///< its entry was dropped at `since`: a second compile gave other bytes
  kUncacheable = 7,  ///< it is never kept; `reason` says why
  kFailed = 8,       ///< it does not compile; `reason` says why
  kNotKept = 9,      ///< it was built before, and its entry is gone
  /// No recorded build of this user has this key, and the user got no artifact of it.
  kUnknownKey = 10,
};

/// An earlier build, named for the user.
struct EarlierBuild {
  Digest key;
  Outcome outcome = Outcome::kBuilt;
  std::chrono::system_clock::time_point time;
};

/// The answer to `explain`.
struct Explanation {
  Verdict verdict = Verdict::kNeverSeen;
  TierName tier = TierName::kNone;  ///< where the artifact is now
  /// The finding of each tier, in the order of a look-up, up to the one that has the artifact.
  /// Empty: no tier is asked.
  std::vector<TierLook> tiers;
  std::string reason;
  /// When the entry was dropped; for a key without such an event, when it was compiled.
  std::optional<std::chrono::system_clock::time_point> since;
  std::optional<EarlierBuild> nearest;
  std::vector<Difference> differences;  ///< the most important ones
  size_t more_differences = 0;          ///< number left out
};

/// A build that is a miss, compared with the user's earlier builds.
struct Comparison {
  PastBuild mark;                         ///< of the build
  PastBuildPtr same;                      ///< the last build with its fingerprint; may be null
  PastBuildPtr nearest;                   ///< may be null
  std::vector<Difference> since_same;     ///< files that changed since `same`
  std::vector<Difference> since_nearest;  ///< files that changed since `nearest`

  /// Finds changed files. Blocks as long as the caller's disk does, and uses only objects that it
  /// owns.
  void LookAt(RequesterFiles& files);
};

/// Maximum number of keys with one prefix that are counted.
inline constexpr size_t kMaxCountedKeys = 16;
/// Returns the error for a prefix of `count` keys of this user.
[[nodiscard]] Error SeveralKeys(const DigestPrefix& prefix, size_t count);

/// Explains why a build was, or would be, compiled. A user learns only about own builds, and about
/// entries whose inputs the user sends. Thread-safe.
class Explainer {
 public:
  using Done = std::function<void(Result<Explanation>)>;

  /// The parts must outlive the explainer. `answered` is null if answers are not recorded.
  Explainer(BuildCache& cache, const BuildHistory& history, const EvictionLog& eviction_log,
            AnsweredBuilds* answered)
      : cache_(cache), history_(history), eviction_log_(eviction_log), answered_(answered) {}

  /// Returns why this uid's last build with this key was compiled, and what happened to its entry.
  /// If no such build is recorded but the user got the entry, returns only the latter.
  /// kInvalidRequest: several keys that this user knows begin with `prefix`. Blocks as long as the
  /// daemon's disk does.
  [[nodiscard]] Result<Explanation> OfKey(const DigestPrefix& prefix, uid_t uid) const;

  /// Returns the explanation of a hit in this tier.
  [[nodiscard]] Explanation OfHit(TierName tier) const;
  /// Returns the findings of this node's tiers up to `last`, which has the artifact; kNone: no tier
  /// has it.
  [[nodiscard]] std::vector<TierLook> Tiers(TierName last) const;

  /// Returns the builds to compare a plan of this uid with; files are not compared yet.
  [[nodiscard]] Comparison Compare(const BuildPlan& plan, uid_t uid) const;
  /// Returns why a build of this plan would be compiled. `manifest`: its known closures; may be
  /// null. `closure`: the true one among them, which has no artifact; may be null.
  [[nodiscard]] Explanation OfMiss(const BuildPlan& plan, const Manifest* manifest,
                                   const KnownClosure* closure, Comparison comparison) const;

 private:
  [[nodiscard]] Explanation OfWholeKey(const Digest& key, uid_t uid) const;
  /// For a key that is not in the history.
  [[nodiscard]] Explanation Answered(const Digest& key, uid_t uid) const;
  /// Returns why an entry is gone.
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
