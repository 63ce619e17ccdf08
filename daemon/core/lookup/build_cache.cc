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

// Limits in bytes of the caches in memory, for all users together.
constexpr size_t kFailureBytes = 64 << 20;
constexpr size_t kQuarantineBytes = 16 << 20;  // quarantined inputs may have closures
constexpr size_t kExpectationBytes = 4 << 20;
constexpr size_t kHadBytes = 8 << 20;  // 4,096 closures of each user
constexpr std::chrono::hours kExpectationLifetime{24};
// A failure is cached only if its log is at most this long, in bytes. Otherwise the next build is
// compiled again.
constexpr size_t kRememberedLogBytes = 64 << 10;

Digest UsersKey(std::string_view what, const Digest& digest, uid_t uid) {
  Hasher hasher;
  hasher.AppendValue(what, digest.View());
  hasher.AppendValue("uid", uid);
  return hasher.Finish();
}

Digest QuarantineKey(const BuildPlan& plan, uid_t uid) {
  Hasher hasher;
  hasher.AppendValue("view", plan.View().View());
  hasher.AppendValue("fingerprint", UsersKey("fingerprint", plan.fingerprint, uid).View());
  return hasher.Finish();
}

FlightResult ResultOf(const Digest& key, TierName tier, ArtifactPtr artifact) {
  FlightResult flight_result;
  flight_result.tier = tier;
  flight_result.key = key;
  flight_result.output.succeeded = true;
  flight_result.output.artifact = std::move(artifact);
  return flight_result;
}

FlightResult OwnResult(const Digest& key, PrivateEntries::Found own) {
  FlightResult flight_result = ResultOf(key, own.tier, std::move(own.artifact));
  flight_result.private_to_user = true;
  return flight_result;
}

std::optional<FlightResult> FindIn(const std::vector<Tier*>& tiers, const Digest& key) {
  for (auto tier = tiers.begin(); tier != tiers.end(); ++tier) {
    ArtifactPtr artifact = (*tier)->Get(key);
    if (artifact == nullptr) continue;
    for (auto above = tiers.begin(); above != tier; ++above) (*above)->Put(key, artifact);
    return ResultOf(key, (*tier)->name(), std::move(artifact));
  }
  return std::nullopt;
}

}  // namespace

EntryName ArtifactNameOf(const BuildPlan& plan, const Digest& key) {
  return {EntryKind::kArtifact, key, plan.job.toolchain->id};
}

EntryName ManifestNameOf(const BuildPlan& plan) {
  return {EntryKind::kManifest, ManifestKey(plan.fingerprint), plan.job.toolchain->id};
}

BuildCache::BuildCache(std::vector<Tier*> tiers, EvictionLog& eviction_log,
                       const Lifetimes& lifetimes, PrivateEntries* own, Cluster* cluster,
                       FindAccount find_account)
    : tiers_(std::move(tiers)),
      at_once_(MemoryTiers(tiers_)),
      own_(own),
      cluster_(cluster),
      eviction_log_(eviction_log),
      manifests_(tiers_, own, std::move(find_account)),
      failures_(lifetimes.failures, kFailureBytes, Clock::now),
      quarantine_(lifetimes.quarantine, kQuarantineBytes, Clock::now),
      looks_outside_(kExpectationLifetime, kExpectationBytes, Clock::now),
      may_show_paths_(kExpectationLifetime, kExpectationBytes, Clock::now),
      had_(kExpectationLifetime, kHadBytes, Clock::now) {}

std::optional<FlightResult> BuildCache::Find(const Digest& key, uid_t uid) {
  if (MayHaveOwn(uid, key)) {
    PrivateEntries::Found own = own_->Get(uid, key);
    if (own.artifact != nullptr) return OwnResult(key, std::move(own));
  }
  return FindIn(tiers_, key);
}

std::optional<FlightResult> BuildCache::FindInMemory(const Digest& key) {
  return FindIn(at_once_, key);
}

std::optional<FlightResult> BuildCache::FindClosedInMemory(const BuildPlan& plan) {
  if (auto hit = FindInMemory(plan.key)) return hit;
  const std::shared_ptr<const Manifest> manifest = SharedManifestInMemory(plan);
  if (manifest == nullptr) return std::nullopt;
  const KnownClosure* const known = manifest->FindTrueWith(*plan.job.toolchain);
  if (known == nullptr || known->shows_paths) return std::nullopt;
  std::optional<FlightResult> hit = FindInMemory(known->key);
  if (hit) hit->closure = known->closure;
  return hit;
}

std::optional<FlightResult> BuildCache::FindInMemory(const Digest& key, uid_t uid) {
  if (!MayHaveOwn(uid, key)) return FindInMemory(key);
  PrivateEntries::Found own = own_->FindInMemory(uid, key);
  // The user's own entries come before the shared entries. This one may be on the disk, so the
  // shared entries are not used.
  if (own.artifact == nullptr) return std::nullopt;
  return OwnResult(key, std::move(own));
}

bool BuildCache::MayWait(const Digest& key, uid_t uid) const {
  return at_once_.size() < tiers_.size() || MayHaveOwn(uid, key);
}

bool BuildCache::MayWait(const BuildPlan& plan, uid_t uid) const {
  return MayWait(plan.key, uid) || MayWait(ManifestKey(plan.fingerprint), uid);
}

std::optional<TierName> BuildCache::WhereIs(const Digest& key, uid_t uid) {
  if (MayHaveOwn(uid, key)) {
    const PrivateEntries::Found own = own_->Get(uid, key);
    if (own.artifact != nullptr) return own.tier;
  }
  // An entry in memory was verified when it was added. An entry in a slower tier may have been
  // damaged since, so it is read and verified.
  for (size_t place = 0; place < tiers_.size(); ++place) {
    Tier& tier = *tiers_[place];
    if (place < at_once_.size() ? tier.Holds(key) : tier.Get(key) != nullptr) return tier.name();
  }
  return std::nullopt;
}

std::vector<TierName> BuildCache::Tiers() const {
  std::vector<TierName> names;
  for (const Tier* tier : tiers_) names.push_back(tier->name());
  return names;
}

UsersManifest BuildCache::ManifestOf(const BuildPlan& plan, uid_t uid) {
  return manifests_.FindFor(uid, plan.fingerprint);
}

UsersManifest BuildCache::ManifestInMemory(const BuildPlan& plan, uid_t uid) {
  if (MayHaveOwn(uid, ManifestKey(plan.fingerprint))) return {};
  const auto shared = SharedManifestInMemory(plan);
  return {shared, shared};
}

std::shared_ptr<const Manifest> BuildCache::SharedManifestInMemory(const BuildPlan& plan) {
  return manifests_.FindInMemory(plan.fingerprint);
}

std::vector<ClosureOf> BuildCache::WhoseClosures(const Manifest& manifest, uid_t uid) {
  std::vector<ClosureOf> whose;
  whose.reserve(manifest.closures.size());
  for (const KnownClosure& known : manifest.closures) {
    const bool had = (known.owner == uid && uid != kOverflowUid) ||
                     had_.Find(UsersKey("closure", known.key, uid)).has_value();
    whose.push_back(had ? ClosureOf::kRequester : ClosureOf::kOthers);
  }
  return whose;
}

void BuildCache::NoteHad(const Digest& key, const Peer& peer) {
  // Many people may have the overflow uid, so nothing is recorded for it.
  if (peer.uid == kOverflowUid) return;
  had_.Remember(UsersKey("closure", key, peer.uid), peer.account(), true, 0);
}

KnownFailurePtr BuildCache::FailureOf(const BuildPlan& plan, uid_t uid) {
  if (const auto of_request = failures_.Find(plan.flight)) return *of_request;
  if (failures_.empty()) return nullptr;
  return failures_.Find(UsersKey("failure", plan.flight, uid)).value_or(nullptr);
}

void BuildCache::RememberFailure(const BuildPlan& plan, const Peer& peer,
                                 const FlightResult& flight_result) {
  const Artifact& artifact = *flight_result.output.artifact;
  if (artifact.log.size() > kRememberedLogBytes) return;
  const auto remember = [&](const Digest& key, const Closure& closure) {
    failures_.Remember(
        key, peer.account(),
        std::make_shared<const KnownFailure>(KnownFailure{flight_result.output, closure}),
        artifact.Footprint() + BytesOf(closure));
  };
  if (!flight_result.looked_outside) return remember(plan.flight, {});
  // Many people may have the overflow uid, so no failure is recorded for it.
  if (peer.uid == kOverflowUid) return;
  remember(UsersKey("failure", plan.flight, peer.uid), flight_result.closure);
}

QuarantinedPtr BuildCache::QuarantineOf(const BuildPlan& plan, uid_t uid) {
  if (quarantine_.empty()) return nullptr;
  return quarantine_.Find(QuarantineKey(plan, uid)).value_or(nullptr);
}

bool BuildCache::LooksOutside(const BuildPlan& plan) {
  return plan.includes_outside || looks_outside_.Find(plan.fingerprint);
}

bool BuildCache::MayShowPaths(const BuildPlan& plan, uid_t uid, const KnownClosure* closure) {
  if (plan.job.request->kind() != BuildKind::kNvrtc) return false;
  if (closure != nullptr && closure->shows_paths) return true;
  return may_show_paths_.Find(UsersKey("program", plan.fingerprint, uid)).has_value();
}

Result<Inserted> BuildCache::Insert(const Digest& fingerprint, const Closure& closure,
                                    const ArtifactPtr& artifact) {
  const Digest key = KeyOf(fingerprint, closure);
  Tier& last = *tiers_.back();
  const bool there = last.Holds(key);
  if (!there) last.Put(key, artifact);
  // The manifest is needed even if the artifact is there already: builds find the key of the
  // artifact with it.
  if (!closure.entries.empty()) manifests_.Add(fingerprint, {closure}, artifact->compile_time);
  if (there) return Inserted::kBefore;
  if (last.Holds(key)) return Inserted::kNow;
  return Error{ErrorCode::kUnavailable,
               "the disk takes no more now: it is full, refuses what is written, or is slower than "
               "what comes; insert the file again once it has room (the daemon's log says more)"};
}

Result<Inserted> BuildCache::InsertFor(uid_t uid, const Digest& fingerprint, const Closure& closure,
                                       const ArtifactPtr& artifact, uint64_t generation) {
  const Result<Inserted> kept = own_->Put(uid, KeyOf(fingerprint, closure), artifact, generation);
  if (!kept || closure.entries.empty()) return kept;
  const Status known =
      manifests_.AddFor(uid, fingerprint, {closure}, artifact->compile_time, generation);
  return known ? kept : known.error();
}

void BuildCache::Drop(const Digest& key) {
  // Noted before the removal, so that a build that misses the entry finds the cause.
  eviction_log_.Note(key, EvictionCause::kShadowCheck);
  for (Tier* tier : tiers_) tier->Remove(key);
}

void BuildCache::NoteLooksOutside(const BuildPlan& plan, Account account) {
  looks_outside_.Remember(plan.fingerprint, account, true, 0);
}

void BuildCache::NoteShowsPaths(const BuildPlan& plan, const Peer& peer, const Closure& closure,
                                std::chrono::microseconds compile_time, const Manifest* known) {
  const KnownClosure shows{closure, true, peer.uid};
  manifests_.AddInMemory(plan.fingerprint, {&shows, 1}, compile_time, known);
  ShareManifest(plan, peer.account());
}

void BuildCache::ShareManifest(const BuildPlan& plan, Account account) {
  if (cluster_ == nullptr) return;
  const auto manifest = manifests_.ForOtherNodes(plan.fingerprint);
  if (manifest == nullptr) return;
  cluster_->Share(ManifestNameOf(plan), {.manifest = manifest}, account);
}

bool BuildCache::MergeManifest(const BuildPlan& plan, const Manifest& manifest,
                               const Manifest* known) {
  return manifests_.Merge(plan.fingerprint, manifest, known);
}

std::shared_ptr<const Manifest> BuildCache::ReadManifest(const BuildPlan& plan,
                                                         const Manifest& manifest) {
  return ManifestTable::Read(plan.fingerprint, manifest);
}

void BuildCache::AddFromElsewhere(const Digest& key, const ArtifactPtr& artifact, TierName tier) {
  for (Tier* each : at_once_) each->Put(key, artifact);
  // A shelf is a directory on a disk, so an entry from a shelf need not be copied to this node's
  // disk. It is copied only if memory has no room for it.
  const auto holds = [&key](Tier* each) { return each->Holds(key); };
  if (tier == TierName::kShelf && std::ranges::any_of(at_once_, holds)) return;
  for (Tier* each : tiers_) each->Put(key, artifact);
}

void BuildCache::Keep(const BuildPlan& plan, const Peer& peer, const FlightResult& flight_result,
                      const Manifest* known) {
  const uid_t uid = peer.uid;
  const Account account = peer.account();
  if (flight_result.looked_outside) NoteLooksOutside(plan, account);
  const Digest key = KeyOf(plan.fingerprint, flight_result.closure);
  if (flight_result.looked_outside) NoteHad(key, peer);
  const ArtifactPtr& artifact = flight_result.output.artifact;
  const auto compile_time =
      artifact == nullptr ? std::chrono::microseconds(0) : artifact->compile_time;
  if (flight_result.shows_paths)
    NoteShowsPaths(plan, peer, flight_result.closure, compile_time, known);
  if (flight_result.may_show_paths) {
    may_show_paths_.Remember(UsersKey("program", plan.fingerprint, uid), account, true, 0);
  }
  if (flight_result.blames_input) {
    const auto died = std::make_shared<const Quarantined>(
        Quarantined{*flight_result.error, flight_result.closure});
    quarantine_.Remember(QuarantineKey(plan, uid), account, died,
                         died->error.message.size() + BytesOf(died->closure));
  }
  if (!flight_result.keepable()) return;
  if (flight_result.output.succeeded) {
    for (Tier* tier : tiers_) tier->Put(key, artifact);
    if (cluster_ != nullptr)
      cluster_->Share(ArtifactNameOf(plan, key), {.artifact = artifact}, account);
    if (!flight_result.closure.entries.empty()) {
      const KnownClosure made{flight_result.closure, false, uid};
      manifests_.AddInMemory(plan.fingerprint, {&made, 1}, compile_time, known);
      ShareManifest(plan, account);
    }
  } else {
    RememberFailure(plan, peer, flight_result);
  }
}

}  // namespace cccl_cache::daemon
