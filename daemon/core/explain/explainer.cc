// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/explain/explainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "daemon/core/closure/closure.h"
#include "daemon/core/explain/difference.h"
#include "daemon/core/model/file_checks.h"
#include "daemon/core/model/result.h"
#include "daemon/core/plan/build_plan.h"

namespace cccl_cache::daemon {
namespace {

constexpr size_t kMaxDifferences = 32;
// A user who edited a header looks for that one; a whole other checkout need not be listed.
constexpr size_t kMaxFiles = 8;
// A question waits so often in a row for a toolchain that changed again.
constexpr int kMaxLooks = 4;

constexpr const char* kNotCompared =
    "it can't be compared with earlier builds: it came with a snapshot, or was compiled for "
    "another user, too long ago, or before the daemon's last start, over which no inputs of "
    "builds are remembered";

EarlierBuild NameOf(const PastBuild& build) { return {build.key, build.outcome, build.time}; }

// Explains in what `is` differs from the earlier build `was`, if in anything.
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

Explanation DiedOn(const Quarantined& input) {
  Explanation explanation;
  explanation.verdict = Verdict::kFailed;
  explanation.reason = input.error.message;
  return explanation;
}

// Returns the build's own reason for not being kept, if it was not.
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

/// One call of OfRequest.
struct Explainer::Question {
  std::shared_ptr<const BuildRequest> request;
  Peer peer;
  Done done;
  int looks = 0;
  std::vector<PastBuildPtr> past;
  // The members below belong to the plan, which may be made again under the real paths.
  std::shared_ptr<const BuildPlan> plan;
  std::shared_ptr<const Manifest> manifest;
  QuarantinedPtr died;                ///< may be null
  std::optional<Explanation> answer;  ///< what is known without a look at files
  PastBuild mark;
  PastBuildPtr same;     ///< the last one of this fingerprint; may be null
  PastBuildPtr nearest;  ///< may be null
};

/// The result of a look at the files of a question.
struct Explainer::Looked {
  bool died = false;                      ///< the compiler, on these very files
  const KnownClosure* closure = nullptr;  ///< the manifest's closure that is true; may be null
  std::vector<Difference> since_same;     ///< files that changed since then
  std::vector<Difference> since_nearest;  ///< the same
};

std::optional<Explanation> Explainer::GoneSince(const Digest& key) const {
  const auto eviction = parts_.eviction_log.Find(key);
  if (!eviction) return std::nullopt;
  Explanation explanation;
  explanation.verdict = VerdictOf(eviction->cause);
  explanation.since = eviction->time;
  return explanation;
}

void Explainer::OfKey(const DigestPrefix& key, const Peer& peer, Done done) const {
  const auto shared = std::make_shared<const Done>(std::move(done));
  const auto known = std::make_shared<Result<Explanation>>(Explanation{});
  const Status added = parts_.reads.Add(
      peer.account(), {.look = [this, key, uid = peer.uid, known] { *known = OfPrefix(key, uid); },
                       .then = [shared, known] { (*shared)(std::move(*known)); },
                       .late = [this, shared] { (*shared)(DiskHangs(patience_.disk)); }});
  if (!added) (*shared)(added.error());
}

Result<Explanation> Explainer::OfPrefix(const DigestPrefix& prefix, uid_t uid) const {
  if (const auto whole = Digest::FromHex(prefix.hex)) return Known(*whole, uid);
  std::set<Digest> keys;
  for (const PastBuildPtr& build : parts_.history.Of(uid)) keys.insert(build->key);
  if (parts_.answered != nullptr) {
    for (const AnsweredBuild& build : parts_.answered->Of(uid)) keys.insert(build.key);
  }
  std::erase_if(keys, [&](const Digest& key) { return !prefix.Matches(key); });
  if (keys.size() == 1) return Known(*keys.begin(), uid);
  Explanation unknown;
  unknown.verdict = Verdict::kUnknownKey;
  if (keys.empty()) return unknown;
  return Error{
      ErrorCode::kInvalidRequest,
      fmt::format("{} keys of yours begin with {}: give more digits", keys.size(), prefix.hex)};
}

Explanation Explainer::Known(const Digest& key, uid_t uid) const {
  const std::vector<PastBuildPtr> past = parts_.history.Of(uid);
  const auto found =
      std::ranges::find_if(past, [&](const PastBuildPtr& build) { return build->key == key; });
  if (found == past.end()) return Answered(key, uid);
  Explanation explanation;
  const PastBuild& build = **found;
  if (auto own = OwnReason(build)) return *std::move(own);
  const auto here = parts_.cache.WhereIs(key, uid);
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
  return explanation;
}

Explanation Explainer::Answered(const Digest& key, uid_t uid) const {
  Explanation explanation;
  explanation.verdict = Verdict::kUnknownKey;
  if (parts_.answered == nullptr || !parts_.answered->Has(uid, key)) return explanation;
  const auto here = parts_.cache.WhereIs(key, uid);
  if (auto gone = GoneSince(key)) {
    explanation = *std::move(gone);
  } else {
    explanation.verdict = here ? Verdict::kHit : Verdict::kNotKept;
  }
  explanation.reason = kNotCompared;
  if (here) explanation.tier = *here;
  return explanation;
}

void Explainer::OfRequest(std::shared_ptr<const BuildRequest> request, const Peer& peer,
                          Done done) const {
  auto question = std::make_shared<Question>();
  question->request = std::move(request);
  question->peer = peer;
  question->done = std::move(done);
  question->past = parts_.history.Of(peer.uid);
  Start(question);
}

void Explainer::Start(const QuestionPtr& question) const {
  const BuildRequest& request = *question->request;
  const auto toolchain =
      parts_.toolchains.Select(request.toolchain, request.driver_version, request.kind());
  if (!toolchain) {
    if (question->looks++ == kMaxLooks) return question->done(KeepsChanging());
    return parts_.toolchains.WhenKnown(request.toolchain, request.driver_version, request.kind(),
                                       [this, question] { Start(question); });
  }
  if (!*toolchain) return question->done(toolchain->error());
  if (MakePlan(*question, **toolchain, false)) LookUp(question);
}

bool Explainer::MakePlan(Question& question, const ToolchainPtr& toolchain,
                         bool force_path_dependent) const {
  Result<BuildPlan> plan =
      PlanBuild(question.request, toolchain, {question.peer.uid, force_path_dependent, own_view_});
  if (!plan) {
    question.done(plan.error());
    return false;
  }
  question.plan = std::make_shared<const BuildPlan>(*std::move(plan));
  question.mark = MarkOf(*question.plan);
  const auto same = std::ranges::find(question.past, question.mark.fingerprint,
                                      [](const PastBuildPtr& build) { return build->fingerprint; });
  question.same = same == question.past.end() ? nullptr : *same;
  question.nearest = Nearest(question.past, question.mark);
  return true;
}

void Explainer::LookUp(const QuestionPtr& question) const {
  const Status added =
      parts_.reads.Add(question->peer.account(),
                       {.look = [this, question] { Read(*question); },
                        .then = [this, question] { CheckFiles(question); },
                        .late = [this, question] { question->done(DiskHangs(patience_.disk)); }});
  if (!added) question->done(added.error());
}

void Explainer::Read(Question& question) const {
  question.died = parts_.cache.QuarantineOf(*question.plan, question.peer.uid);
  question.answer = WithoutFiles(question);
  if (question.answer) return;
  question.manifest = parts_.cache.ManifestOf(*question.plan, question.peer.uid).all;
}

void Explainer::CheckFiles(const QuestionPtr& question) const {
  if (question->answer) return question->done(*std::move(question->answer));
  const Status added = parts_.checks.Add(question->peer.account(), LookFor(question));
  if (!added) question->done(added.error());
}

// Returns what is known without a look at files.
std::optional<Explanation> Explainer::WithoutFiles(const Question& question) const {
  const BuildPlan& plan = *question.plan;
  Explanation explanation;
  if (!plan.uncacheable_reason.empty()) {
    explanation.verdict = Verdict::kUncacheable;
    explanation.reason = plan.uncacheable_reason;
  } else if (question.died != nullptr && question.died->closure.entries.empty()) {
    explanation = DiedOn(*question.died);
  } else if (const auto failure = parts_.cache.FailureOf(plan)) {
    explanation.verdict = Verdict::kFailed;
    explanation.reason = failure->Reason();
  } else if (const auto tier = parts_.cache.WhereIs(plan.key, question.peer.uid)) {
    explanation.verdict = Verdict::kHit;
    explanation.tier = *tier;
  } else {
    return std::nullopt;
  }
  return explanation;
}

// Looks at the user's files as they are now, and concludes from that.
FileChecks::Look Explainer::LookFor(const QuestionPtr& question) const {
  const auto looked = std::make_shared<Looked>();
  return {.look =
              [looked, manifest = question->manifest,
               whose = parts_.cache.WhoseClosures(*question->manifest, question->peer.uid),
               died = question->died, same = question->same, nearest = question->nearest,
               roots = question->plan->directories.roots.size(),
               files = std::shared_ptr<RequesterFiles>(
                   OpenFiles(parts_.files, {question->peer}, question->plan->directories))] {
                looked->died = died != nullptr && died->IsStillSo(*files);
                if (looked->died) return;
                looked->closure = manifest->FindTrue(*files, whose);
                if (looked->closure != nullptr) return;
                if (same) looked->since_same = FilesChangedSince(*same, *files, kMaxFiles);
                // In another search order, the build's numbers would name other places.
                if (nearest && nearest->client_prefixes.size() == roots) {
                  looked->since_nearest = FilesChangedSince(*nearest, *files, kMaxFiles);
                }
              },
          .then = [this, question, looked] { Checked(question, looked); },
          .late = [this, question] { question->done(FilesHang(patience_.files)); }};
}

void Explainer::Checked(const QuestionPtr& question,
                        const std::shared_ptr<const Looked>& looked) const {
  if (looked->died) return question->done(DiedOn(*question->died));
  if (looked->closure == nullptr || looked->closure->shows_paths) return NotKept(question, *looked);
  const auto tier = std::make_shared<std::optional<TierName>>();
  const auto answer = [this, question, looked, tier] {
    if (!*tier) return NotKept(question, *looked);
    Explanation explanation;
    explanation.verdict = Verdict::kHit;
    explanation.tier = **tier;
    question->done(std::move(explanation));
  };
  const Status added =
      parts_.reads.Add(question->peer.account(),
                       {.look = [this, key = looked->closure->key, uid = question->peer.uid,
                                 tier] { *tier = parts_.cache.WhereIs(key, uid); },
                        .then = answer,
                        .late = [this, question] { question->done(DiskHangs(patience_.disk)); }});
  if (!added) question->done(added.error());
}

void Explainer::NotKept(const QuestionPtr& question, const Looked& looked) const {
  const BuildPlan& plan = *question->plan;
  // Continues as a build does that finds nothing under canonical names.
  if (!plan.path_dependent && parts_.cache.MayShowPaths(plan, question->peer.uid, looked.closure)) {
    const ToolchainPtr toolchain = plan.job.toolchain;
    if (MakePlan(*question, toolchain, true)) LookUp(question);
    return;
  }
  Conclude(*question, looked);
}

void Explainer::Conclude(const Question& question, const Looked& looked) const {
  const BuildPlan& plan = *question.plan;
  std::optional<Explanation> answer;
  if (looked.closure != nullptr) {
    answer = GoneSince(looked.closure->key);
  } else if (question.manifest->closures.empty()) {
    answer = GoneSince(plan.key);
    if (!answer) answer = GoneSince(ManifestKey(plan.fingerprint));
  }
  if (!answer && question.same && looked.since_same.empty()) answer = OwnReason(*question.same);
  if (!answer) {
    answer = Explanation{};
    if (question.nearest) {
      std::vector<Difference> differences = Differences(*question.nearest, question.mark);
      differences.insert(differences.end(), looked.since_nearest.begin(),
                         looked.since_nearest.end());
      Tell(std::move(differences), *question.nearest, question.mark, &*answer);
    }
  }
  if (question.nearest && !answer->nearest) answer->nearest = NameOf(*question.nearest);
  question.done(*std::move(answer));
}

}  // namespace cccl_cache::daemon
