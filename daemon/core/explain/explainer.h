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
#include "daemon/core/model/tier_look.h"
#include "daemon/core/plan/build_plan.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Why a build is, or was, compiled. Sent over the wire: values never change, and are those in
/// admin.proto.
enum class Verdict : uint8_t {
  kHit = 1,          ///< not compiled: `tier` has it
  kNeverSeen = 2,    ///< no earlier build of this user's resembles it
  kDiffers = 3,      ///< from the nearest earlier build in `differences`
  kEvicted = 4,      ///< its entry was dropped at `since`: for the limit, or by an administrator
  kCorrupt = 5,      ///< its entry did not verify at `since`
  kShadowCheck = 6,  ///< its entry was dropped at `since`: its compiler made something else
  kUncacheable = 7,  ///< `reason` says why it is never kept
  kFailed = 8,       ///< it does not compile; `reason` says why
  kNotKept = 9,      ///< it was built before, and its entry is gone
  /// No remembered build of this user has this key, and the user received no artifact of it.
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
  TierName tier = TierName::kNone;  ///< where the artifact lies now
  /// The finding of each tier, in the order in which a build asks them, up to the one that has it.
  /// Empty: no tier is asked.
  std::vector<TierLook> tiers;
  std::string reason;
  /// When the entry was dropped. For a key without such an event: when it was compiled.
  std::optional<std::chrono::system_clock::time_point> since;
  std::optional<EarlierBuild> nearest;
  std::vector<Difference> differences;  ///< the most important ones
  size_t more_differences = 0;          ///< number left out
};

/// A build that is a miss, beside the user's earlier builds.
struct Comparison {
  PastBuild mark;                         ///< of the build
  PastBuildPtr same;                      ///< the last one of its fingerprint; may be null
  PastBuildPtr nearest;                   ///< may be null
  std::vector<Difference> since_same;     ///< files that changed since then
  std::vector<Difference> since_nearest;  ///< the same

  /// Finds changed files. Blocks as long as the caller's disk does, and uses only what it owns.
  void LookAt(RequesterFiles& files);
};

/// Maximum number of keys with one prefix that are counted.
inline constexpr size_t kMaxCountedKeys = 16;
/// Returns the error for a prefix of `count` keys of this user.
[[nodiscard]] Error SeveralKeys(const DigestPrefix& prefix, size_t count);

/// Explains why a build was, or would be, compiled. A user learns only of own builds, and of
/// entries whose inputs the user presents. Thread-safe.
class Explainer {
 public:
  using Done = std::function<void(Result<Explanation>)>;

  /// The parts must outlive the explainer. `answered` is null if answers are not noted.
  Explainer(BuildCache& cache, const BuildHistory& history, const EvictionLog& eviction_log,
            AnsweredBuilds* answered)
      : cache_(cache), history_(history), eviction_log_(eviction_log), answered_(answered) {}

  /// Returns why this uid's last build with this key was compiled, and what became of its entry. If
  /// the user was answered with the entry and no such build is remembered, returns the latter
  /// alone. kInvalidRequest: several keys that this user knows begin with `prefix`. Blocks as long
  /// as the daemon's disk does.
  [[nodiscard]] Result<Explanation> OfKey(const DigestPrefix& prefix, uid_t uid) const;

  /// Returns the explanation of a hit in this tier.
  [[nodiscard]] Explanation OfHit(TierName tier) const;
  /// Returns what the tiers of this node have, up to `last`, which has it; kNone: no tier has it.
  [[nodiscard]] std::vector<TierLook> Tiers(TierName last) const;

  /// Returns what a plan of this uid is to be compared with; files are not looked at yet.
  [[nodiscard]] Comparison Compare(const BuildPlan& plan, uid_t uid) const;
  /// Returns why a build of this plan would be compiled. `manifest`: its files, as far as any are
  /// known; may be null. `closure`: the one of them that is true, without an artifact; may be null.
  [[nodiscard]] Explanation OfMiss(const BuildPlan& plan, const Manifest* manifest,
                                   const KnownClosure* closure, Comparison comparison) const;

 private:
  [[nodiscard]] Explanation OfWholeKey(const Digest& key, uid_t uid) const;
  /// For a key that the history does not have.
  [[nodiscard]] Explanation Answered(const Digest& key, uid_t uid) const;
  /// Returns the reason why an entry is gone.
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
