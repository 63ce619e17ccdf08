// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/explain/explainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace cccl_cache::daemon {
namespace {

constexpr size_t kMaxDifferences = 32;
// Maximum number of changed files that are listed. This is enough to show an edited header. If
// another checkout is compiled, not all of its files need to be listed.
constexpr size_t kMaxFiles = 8;

constexpr const char* kNotCompared =
    "it can't be compared with earlier builds: it came with a snapshot, or was compiled for "
    "another user, too long ago, or before the daemon's last start, over which no inputs of "
    "builds are remembered";

EarlierBuild NameOf(const PastBuild& build) { return {build.key, build.outcome, build.time}; }

// Adds the differences of the build `is` from the earlier build `was` to the explanation. Without
// differences, the verdict is kNotKept.
void Tell(std::vector<Difference> differences, const PastBuild& was, const PastBuild& is,
          Explanation* explanation) {
  explanation->verdict = differences.empty() ? Verdict::kNotKept : Verdict::kDiffers;
  explanation->reason = WhyPathsCount(was, is, differences);
  if (differences.size() > kMaxDifferences) {
    explanation->more_differences = differences.size() - kMaxDifferences;
    differences.resize(kMaxDifferences);
  }
  explanation->differences = std::move(differences);
}

Verdict VerdictOf(EvictionCause cause) {
  if (cause == EvictionCause::kCorrupt) return Verdict::kCorrupt;
  return cause == EvictionCause::kShadowCheck ? Verdict::kShadowCheck : Verdict::kEvicted;
}

// Returns why the build was not cached: it failed or is uncacheable. None if it was cached.
std::optional<Explanation> OwnReason(const PastBuild& build) {
  if (build.kept()) return std::nullopt;
  Explanation explanation;
  explanation.verdict =
      build.outcome == Outcome::kFailed ? Verdict::kFailed : Verdict::kUncacheable;
  explanation.reason = build.reason;
  explanation.nearest = NameOf(build);
  return explanation;
}

}  // namespace

Error SeveralKeys(const DigestPrefix& prefix, size_t count) {
  return {ErrorCode::kInvalidRequest,
          fmt::format("{}{} keys of yours begin with {}: give more digits", count,
                      count < kMaxCountedKeys ? "" : " or more", prefix.hex)};
}

std::optional<Explanation> Explainer::GoneSince(const Digest& key) const {
  const auto eviction = eviction_log_.Find(key);
  if (!eviction) return std::nullopt;
  Explanation explanation;
  explanation.verdict = VerdictOf(eviction->cause);
  explanation.since = eviction->time;
  return explanation;
}

Result<Explanation> Explainer::OfKey(const DigestPrefix& prefix, uid_t uid) const {
  if (const auto whole = Digest::FromHex(prefix.hex)) return OfWholeKey(*whole, uid);
  std::set<Digest> keys;
  for (const PastBuildPtr& build : history_.Of(uid)) {
    if (prefix.Matches(build->key)) keys.insert(build->key);
  }
  if (answered_ != nullptr) {
    for (const Digest& key : answered_->KeysWith(uid, prefix, kMaxCountedKeys)) keys.insert(key);
  }
  if (keys.size() == 1) return OfWholeKey(*keys.begin(), uid);
  Explanation unknown;
  unknown.verdict = Verdict::kUnknownKey;
  if (keys.empty()) return unknown;
  return SeveralKeys(prefix, keys.size());
}

Explanation Explainer::OfWholeKey(const Digest& key, uid_t uid) const {
  const std::vector<PastBuildPtr> past = history_.Of(uid);
  const auto found =
      std::ranges::find_if(past, [&](const PastBuildPtr& build) { return build->key == key; });
  if (found == past.end()) return Answered(key, uid);
  Explanation explanation;
  const PastBuild& build = **found;
  if (auto own = OwnReason(build)) return *std::move(own);
  const auto here = cache_.WhereIs(key, uid);
  const PastBuildPtr nearest = Nearest(std::span(past).subspan(found - past.begin() + 1), build);
  if (auto gone = GoneSince(key)) {
    explanation = *std::move(gone);
  } else if (nearest == nullptr) {
    explanation.verdict = Verdict::kNeverSeen;
  } else {
    Tell(Differences(*nearest, build), *nearest, build, &explanation);
  }
  if (!explanation.since) explanation.since = build.time;
  if (nearest) explanation.nearest = NameOf(*nearest);
  if (here) explanation.tier = *here;
  explanation.tiers = Tiers(explanation.tier);
  return explanation;
}

Explanation Explainer::Answered(const Digest& key, uid_t uid) const {
  Explanation explanation;
  explanation.verdict = Verdict::kUnknownKey;
  if (answered_ == nullptr || !answered_->Has(uid, key)) return explanation;
  const auto here = cache_.WhereIs(key, uid);
  if (auto gone = GoneSince(key)) {
    explanation = *std::move(gone);
  } else {
    explanation.verdict = here ? Verdict::kHit : Verdict::kNotKept;
  }
  explanation.reason = kNotCompared;
  if (here) explanation.tier = *here;
  explanation.tiers = Tiers(explanation.tier);
  return explanation;
}

std::vector<TierLook> Explainer::Tiers(TierName last) const {
  std::vector<TierLook> looks;
  for (const TierName tier : cache_.Tiers()) {
    looks.push_back({tier, tier == last ? TierFinding::kHasIt : TierFinding::kNoEntry});
    if (tier == last) break;
  }
  return looks;
}

Explanation Explainer::OfHit(TierName tier) const {
  return {.verdict = Verdict::kHit, .tier = tier, .tiers = Tiers(tier)};
}

Comparison Explainer::Compare(const BuildPlan& plan, uid_t uid) const {
  const std::vector<PastBuildPtr> past = history_.Of(uid);
  Comparison comparison{.mark = MarkOf(plan)};
  const auto same = std::ranges::find(past, comparison.mark.fingerprint,
                                      [](const PastBuildPtr& build) { return build->fingerprint; });
  if (same != past.end()) comparison.same = *same;
  comparison.nearest = Nearest(past, comparison.mark);
  return comparison;
}

void Comparison::LookAt(RequesterFiles& files) {
  if (same) since_same = FilesChangedSince(*same, files, kMaxFiles);
  // A root number means the same directory in both builds only if both have the same number of
  // roots.
  if (nearest && nearest->client_prefixes.size() == mark.client_prefixes.size()) {
    since_nearest = FilesChangedSince(*nearest, files, kMaxFiles);
  }
}

std::optional<Explanation> Explainer::GoneSince(const BuildPlan& plan, const Manifest* manifest,
                                                const KnownClosure* closure) const {
  if (closure != nullptr) return GoneSince(closure->key);
  if (manifest != nullptr && !manifest->closures.empty()) return std::nullopt;
  if (auto artifact = GoneSince(plan.key)) return artifact;
  return GoneSince(ManifestKey(plan.fingerprint));
}

Explanation Explainer::OfMiss(const BuildPlan& plan, const Manifest* manifest,
                              const KnownClosure* closure, Comparison comparison) const {
  Explanation explanation;
  if (!plan.uncacheable_reason.empty()) {
    explanation.verdict = Verdict::kUncacheable;
    explanation.reason = plan.uncacheable_reason;
    return explanation;
  }
  const PastBuildPtr& nearest = comparison.nearest;
  if (auto gone = GoneSince(plan, manifest, closure)) {
    explanation = *std::move(gone);
  } else if (auto own = comparison.same && comparison.since_same.empty()
                            ? OwnReason(*comparison.same)
                            : std::nullopt) {
    explanation = *std::move(own);
  } else if (nearest) {
    std::vector<Difference> differences = Differences(*nearest, comparison.mark);
    std::ranges::move(comparison.since_nearest, std::back_inserter(differences));
    Tell(std::move(differences), *nearest, comparison.mark, &explanation);
  }
  if (nearest && !explanation.nearest) explanation.nearest = NameOf(*nearest);
  return explanation;
}

}  // namespace cccl_cache::daemon
