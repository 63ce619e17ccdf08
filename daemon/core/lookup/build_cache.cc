// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/lookup/build_cache.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "daemon/core/model/tier.h"

namespace cccl_cache::daemon {
namespace {

using Clock = std::chrono::steady_clock;

// Bounds of what is remembered, of all users together.
constexpr size_t kFailureBytes = 64 << 20;
constexpr size_t kQuarantineBytes = 16 << 20;  // some have closures
constexpr size_t kExpectationBytes = 4 << 20;
constexpr size_t kHadBytes = 8 << 20;  // 4,096 closures of each user
constexpr std::chrono::hours kExpectationLifetime{24};
// A log longer than this is not remembered: the failure is found again.
constexpr size_t kRememberedLogBytes = 64 << 10;

Digest UsersKey(std::string_view what, const Digest& digest, uid_t uid) {
  Hasher hasher;
  hasher.AppendValue(what, digest.View());
  hasher.AppendValue("uid", uid);
  return hasher.Finish();
}

Digest QuarantineKey(const BuildPlan& plan, uid_t uid) {
  Hasher hasher;
  hasher.AppendValue("view", plan.view.View());
  hasher.AppendValue("fingerprint", UsersKey("fingerprint", plan.fingerprint, uid).View());
  return hasher.Finish();
}

Landing LandingOf(const Digest& key, TierName tier, ArtifactPtr artifact) {
  Landing landing;
  landing.tier = tier;
  landing.key = key;
  landing.output.succeeded = true;
  landing.output.artifact = std::move(artifact);
  return landing;
}

Landing OwnLanding(const Digest& key, PrivateEntries::Found own) {
  Landing landing = LandingOf(key, own.tier, std::move(own.artifact));
  landing.private_to_user = true;
  return landing;
}

std::optional<Landing> FindIn(const std::vector<Tier*>& tiers, const Digest& key) {
  for (auto tier = tiers.begin(); tier != tiers.end(); ++tier) {
    ArtifactPtr artifact = (*tier)->Get(key);
    if (artifact == nullptr) continue;
    for (auto above = tiers.begin(); above != tier; ++above) (*above)->Put(key, artifact);
    return LandingOf(key, (*tier)->name(), std::move(artifact));
  }
  return std::nullopt;
}

}  // namespace

BuildMemory::BuildMemory(std::vector<Tier*> tiers, Departures& departures,
                         const Lifetimes& lifetimes, PrivateEntries* own)
    : tiers_(std::move(tiers)),
      at_once_(TiersAtOnce(tiers_)),
      own_(own),
      departures_(departures),
      manifests_(tiers_, own),
      failures_(lifetimes.failures, kFailureBytes, Clock::now),
      quarantine_(lifetimes.quarantine, kQuarantineBytes, Clock::now),
      looks_outside_(kExpectationLifetime, kExpectationBytes, Clock::now),
      may_show_paths_(kExpectationLifetime, kExpectationBytes, Clock::now),
      had_(kExpectationLifetime, kHadBytes, Clock::now) {}

std::optional<Landing> BuildMemory::Find(const Digest& key, uid_t uid) {
  if (MayHaveOwn(uid, key)) {
    PrivateEntries::Found own = own_->Get(uid, key);
    if (own.artifact != nullptr) return OwnLanding(key, std::move(own));
  }
  return FindIn(tiers_, key);
}

std::optional<Landing> BuildMemory::FindAtOnce(const Digest& key) { return FindIn(at_once_, key); }

std::optional<Landing> BuildMemory::FindClosedAtOnce(const BuildPlan& plan) {
  if (auto hit = FindAtOnce(plan.key)) return hit;
  const std::shared_ptr<const Manifest> manifest = SharedManifestAtOnce(plan);
  if (manifest == nullptr) return std::nullopt;
  const KnownClosure* const known = manifest->FindTrueWith(*plan.job.toolchain);
  if (known == nullptr || known->shows_paths) return std::nullopt;
  std::optional<Landing> hit = FindAtOnce(known->key);
  if (hit) hit->closure = known->closure;
  return hit;
}

std::optional<Landing> BuildMemory::FindAtOnce(const Digest& key, uid_t uid) {
  if (!MayHaveOwn(uid, key)) return FindAtOnce(key);
  PrivateEntries::Found own = own_->GetAtOnce(uid, key);
  // What the disk may have of the user's own comes before what all share.
  if (own.artifact == nullptr) return std::nullopt;
  return OwnLanding(key, std::move(own));
}

bool BuildMemory::MayWait(const Digest& key, uid_t uid) const {
  return at_once_.size() < tiers_.size() || MayHaveOwn(uid, key);
}

bool BuildMemory::MayWait(const BuildPlan& plan, uid_t uid) const {
  return MayWait(plan.key, uid) || MayWait(ManifestKey(plan.fingerprint), uid);
}

std::optional<TierName> BuildMemory::WhereIs(const Digest& key, uid_t uid) {
  if (MayHaveOwn(uid, key)) {
    const PrivateEntries::Found own = own_->Get(uid, key);
    if (own.artifact != nullptr) return own.tier;
  }
  // What lies in memory was verified when it came in; what a slower tier knows a key of may have
  // decayed since.
  for (size_t place = 0; place < tiers_.size(); ++place) {
    Tier& tier = *tiers_[place];
    if (place < at_once_.size() ? tier.Holds(key) : tier.Get(key) != nullptr) return tier.name();
  }
  return std::nullopt;
}

UsersManifest BuildMemory::ManifestOf(const BuildPlan& plan, uid_t uid) {
  return manifests_.FindFor(uid, plan.fingerprint);
}

UsersManifest BuildMemory::ManifestAtOnce(const BuildPlan& plan, uid_t uid) {
  if (MayHaveOwn(uid, ManifestKey(plan.fingerprint))) return {};
  const auto shared = SharedManifestAtOnce(plan);
  return {shared, shared};
}

std::shared_ptr<const Manifest> BuildMemory::SharedManifestAtOnce(const BuildPlan& plan) {
  return manifests_.FindAtOnce(plan.fingerprint);
}

std::vector<ClosureOf> BuildMemory::WhoseClosures(const Manifest& manifest, uid_t uid) {
  std::vector<ClosureOf> whose;
  whose.reserve(manifest.closures.size());
  for (const KnownClosure& known : manifest.closures) {
    const bool had = (known.owner == uid && uid != kOverflowUid) ||
                     had_.Find(UsersKey("closure", known.key, uid)).has_value();
    whose.push_back(had ? ClosureOf::kRequester : ClosureOf::kOthers);
  }
  return whose;
}

void BuildMemory::NoteHad(const Digest& key, const Peer& peer) {
  // The overflow uid stands for many people.
  if (peer.uid == kOverflowUid) return;
  had_.Remember(UsersKey("closure", key, peer.uid), peer.account(), true, 0);
}

std::optional<CompileOutput> BuildMemory::FailureOf(const BuildPlan& plan) {
  return failures_.Find(plan.flight);
}

QuarantinedPtr BuildMemory::QuarantineOf(const BuildPlan& plan, uid_t uid) {
  return quarantine_.Find(QuarantineKey(plan, uid)).value_or(nullptr);
}

bool BuildMemory::LooksOutside(const BuildPlan& plan) {
  return plan.include_view || looks_outside_.Find(plan.fingerprint);
}

bool BuildMemory::MayShowPaths(const BuildPlan& plan, uid_t uid, const KnownClosure* closure) {
  if (plan.job.request->kind() != BuildKind::kNvrtc) return false;
  if (closure != nullptr && closure->shows_paths) return true;
  return may_show_paths_.Find(UsersKey("program", plan.fingerprint, uid)) ||
         (plan.include_view && may_show_paths_.Find(*plan.include_view));
}

Result<Inserted> BuildMemory::Insert(const Digest& fingerprint, const Closure& closure,
                                     const ArtifactPtr& artifact) {
  const Digest key = KeyOf(fingerprint, closure);
  Tier& last = *tiers_.back();
  const bool there = last.Holds(key);
  if (!there) last.Put(key, artifact);
  // Also where only the artifact is there: builds find its key by this.
  if (!closure.entries.empty()) manifests_.Add(fingerprint, {closure}, artifact->compile_time);
  if (there) return Inserted::kBefore;
  if (last.Holds(key)) return Inserted::kNow;
  return Error{ErrorCode::kUnavailable,
               "the disk takes no more now: it is full, refuses what is written, or is slower than "
               "what comes; insert the file again once it has room (the daemon's log says more)"};
}

Result<Inserted> BuildMemory::InsertFor(uid_t uid, const Digest& fingerprint,
                                        const Closure& closure, const ArtifactPtr& artifact,
                                        uint64_t generation) {
  const Result<Inserted> kept = own_->Put(uid, KeyOf(fingerprint, closure), artifact, generation);
  if (!kept || closure.entries.empty()) return kept;
  const Status known =
      manifests_.AddFor(uid, fingerprint, {closure}, artifact->compile_time, generation);
  return known ? kept : known.error();
}

void BuildMemory::Drop(const Digest& key) {
  // First: who finds it gone is to find out why.
  departures_.Note(key, DepartureCause::kShadowCheck);
  for (Tier* tier : tiers_) tier->Remove(key);
}

void BuildMemory::NoteLooksOutside(const BuildPlan& plan, Account account) {
  looks_outside_.Remember(plan.fingerprint, account, true, 0);
}

void BuildMemory::NoteShowsPaths(const BuildPlan& plan, uid_t uid, const Closure& closure,
                                 std::chrono::microseconds compile_time, const Manifest* known) {
  manifests_.AddAtOnce(plan.fingerprint, {closure, true, uid}, compile_time, known);
}

void BuildMemory::Keep(const BuildPlan& plan, const Peer& peer, const Landing& landing,
                       const Manifest* known) {
  const uid_t uid = peer.uid;
  const Account account = peer.account();
  if (landing.looked_outside) NoteLooksOutside(plan, account);
  const Digest key = KeyOf(plan.fingerprint, landing.closure);
  if (landing.looked_outside) NoteHad(key, peer);
  const ArtifactPtr& artifact = landing.output.artifact;
  const auto compile_time =
      artifact == nullptr ? std::chrono::microseconds(0) : artifact->compile_time;
  if (landing.shows_paths) NoteShowsPaths(plan, uid, landing.closure, compile_time, known);
  if (landing.may_show_paths) {
    may_show_paths_.Remember(UsersKey("program", plan.fingerprint, uid), account, true, 0);
    if (plan.include_view) may_show_paths_.Remember(*plan.include_view, account, true, 0);
  }
  if (landing.blames_input) {
    const auto died =
        std::make_shared<const Quarantined>(Quarantined{*landing.error, landing.closure});
    quarantine_.Remember(QuarantineKey(plan, uid), account, died,
                         died->error.message.size() + BytesOf(died->closure));
  }
  if (!landing.keepable()) return;
  if (landing.output.succeeded) {
    for (Tier* tier : tiers_) tier->Put(key, artifact);
    if (!landing.closure.entries.empty()) {
      manifests_.AddAtOnce(plan.fingerprint, {landing.closure, false, uid}, compile_time, known);
    }
  } else if (const size_t log = artifact->log.size();
             log <= kRememberedLogBytes && !landing.looked_outside) {
    failures_.Remember(plan.flight, account, landing.output, log);
  }
}

}  // namespace cccl_cache::daemon
