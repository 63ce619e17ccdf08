// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/lookup/manifest_table.h"

#include <algorithm>
#include <utility>

namespace cccl_cache::daemon {

using std::chrono::microseconds;

namespace {

// Limit in bytes of the decoded manifests. It counts the bytes of their entries, and kDecodedBytes
// for each. A decoded manifest takes about twice as much memory as its entry, and at least
// kDecodedBytes.
constexpr size_t kMaxDecodedBytes = 16 << 20;
constexpr size_t kDecodedBytes = 512;

constexpr size_t kOwnersBytes = 8 << 20;  // 4,096 closures of each account
constexpr std::chrono::hours kOwnersLifetime{24};

}  // namespace

ManifestTable::ManifestTable(std::vector<Tier*> tiers, PrivateEntries* own,
                             FindAccount find_account)
    : tiers_(std::move(tiers)),
      at_once_(MemoryTiers(tiers_)),
      own_(own),
      find_account_(std::move(find_account)),
      of_containers_(kOwnersLifetime, kOwnersBytes, std::chrono::steady_clock::now),
      decoded_({.max_bytes = kMaxDecodedBytes}) {}

void ManifestTable::NoteOwners(const Digest& fingerprint, std::span<const KnownClosure> closures) {
  for (const KnownClosure& known : closures) {
    if (!known.owner || !IsContainerUser(*known.owner)) continue;
    const auto found = find_account_ ? find_account_(*known.owner) : std::nullopt;
    of_containers_.Remember(KeyOf(fingerprint, known.closure),
                            found.value_or(Account(*known.owner)), *known.owner, 0);
  }
}

ArtifactPtr ManifestTable::EntryWith(Manifest manifest, std::span<const KnownClosure> closures,
                                     microseconds compile_time) const {
  for (const KnownClosure& closure : closures) manifest.Add(closure, find_account_);
  manifest.compile_time = std::max(manifest.compile_time, compile_time);
  return EntryOf(manifest);
}

std::shared_ptr<const Manifest> ManifestTable::Find(const Digest& fingerprint) {
  const ManifestPtr found = FindIn(tiers_, fingerprint);
  return found == nullptr ? std::make_shared<const Manifest>() : found;
}

std::shared_ptr<const Manifest> ManifestTable::FindInMemory(const Digest& fingerprint) {
  return FindIn(at_once_, fingerprint);
}

ManifestTable::ManifestPtr ManifestTable::FindIn(const std::vector<Tier*>& tiers,
                                                 const Digest& fingerprint) {
  const Digest key = ManifestKey(fingerprint);
  for (auto tier = tiers.begin(); tier != tiers.end(); ++tier) {
    const ArtifactPtr entry = (*tier)->Get(key);
    if (entry == nullptr) continue;
    for (auto above = tiers.begin(); above != tier; ++above) (*above)->Put(key, entry);
    return Decode(fingerprint, fingerprint, entry);
  }
  return nullptr;
}

ArtifactPtr ManifestTable::EntryInMemory(const Digest& fingerprint) {
  const Digest key = ManifestKey(fingerprint);
  for (Tier* tier : at_once_) {
    if (ArtifactPtr entry = tier->Get(key)) return entry;
  }
  return nullptr;
}

ManifestTable::ManifestPtr ManifestTable::FindOwn(uid_t uid, const Digest& fingerprint) {
  const Digest key = ManifestKey(fingerprint);
  if (own_ == nullptr || !own_->MayHave(uid, key)) return nullptr;
  const ArtifactPtr entry = own_->Get(uid, key).artifact;
  if (entry == nullptr) return nullptr;
  Hasher place;
  place.AppendValue("fingerprint", fingerprint.View());
  place.AppendValue("uid", uid);
  return Decode(place.Finish(), fingerprint, entry);
}

UsersManifest ManifestTable::FindFor(uid_t uid, const Digest& fingerprint) {
  const ManifestPtr shared = Find(fingerprint);
  const ManifestPtr own = FindOwn(uid, fingerprint);
  if (own == nullptr) return {shared, shared};
  if (shared->closures.empty()) return {own, shared};
  auto both = std::make_shared<Manifest>(*own);
  both->closures.insert(both->closures.end(), shared->closures.begin(), shared->closures.end());
  return {both, shared};
}

ManifestTable::ManifestPtr ManifestTable::Decode(const Digest& place, const Digest& fingerprint,
                                                 const ArtifactPtr& entry) {
  {
    const MutexLock lock(mutex_);
    const Decoded* const known = decoded_.Use(place);
    if (known != nullptr && known->entry == entry) return known->manifest;
  }
  Manifest manifest = ManifestIn(*entry).value_or(Manifest());
  for (KnownClosure& known : manifest.closures) {
    known.key = KeyOf(fingerprint, known.closure);
    if (!known.owner) known.owner = of_containers_.Find(known.key);
  }
  auto decoded = std::make_shared<const Manifest>(std::move(manifest));
  const size_t bytes = kDecodedBytes + entry->Footprint();
  if (bytes > kMaxDecodedBytes / 4) return decoded;
  Lru::Entries gone;  // freed after the mutex is unlocked
  const MutexLock lock(mutex_);
  gone = decoded_.Insert({}, place, {entry, decoded}, bytes);
  return decoded;
}

void ManifestTable::Add(const Digest& fingerprint, const KnownClosure& closure,
                        microseconds compile_time) {
  // Find copies the manifest into memory. So AddInMemory does not wait for the disk while it holds
  // a lock that other threads need.
  const ManifestPtr known = Find(fingerprint);
  AddInMemory(fingerprint, {&closure, 1}, compile_time, known.get());
}

bool ManifestTable::Merge(const Digest& fingerprint, const Manifest& theirs,
                          const Manifest* known) {
  const ManifestPtr read = Read(fingerprint, theirs);
  const ManifestPtr ours = FindInMemory(fingerprint);
  const Manifest* const before = ours != nullptr ? ours.get() : known;
  std::vector<KnownClosure> closures;
  for (auto each = read->closures.rbegin(); each != read->closures.rend(); ++each) {
    if (before == nullptr || !before->Knows(each->key)) closures.push_back(*each);
  }
  if (closures.empty()) return false;
  AddInMemory(fingerprint, closures, theirs.compile_time, known);
  return true;
}

std::shared_ptr<const Manifest> ManifestTable::Read(const Digest& fingerprint,
                                                    const Manifest& theirs) {
  auto read = std::make_shared<Manifest>(theirs);
  for (KnownClosure& closure : read->closures) {
    closure.key = KeyOf(fingerprint, closure.closure);
    // A uid of another node may be another person here.
    closure.owner.reset();
  }
  return read;
}

std::shared_ptr<const Manifest> ManifestTable::ForOtherNodes(const Digest& fingerprint) {
  const ManifestPtr ours = FindInMemory(fingerprint);
  if (ours == nullptr) return nullptr;
  auto shared = std::make_shared<Manifest>(*ours);
  for (KnownClosure& closure : shared->closures) closure.owner.reset();
  return shared;
}

void ManifestTable::AddInMemory(const Digest& fingerprint, std::span<const KnownClosure> closures,
                                microseconds compile_time, const Manifest* known) {
  NoteOwners(fingerprint, closures);
  const auto entry_after = [&](const ArtifactPtr& before) {
    if (before != nullptr)
      return EntryWith(*Decode(fingerprint, fingerprint, before), closures, compile_time);
    return EntryWith(known == nullptr ? Manifest{} : *known, closures, compile_time);
  };
  // A manifest may have 32 MiB, so it is encoded before the mutex is locked. Only if another
  // closure was added meanwhile is it encoded again under the lock.
  const ArtifactPtr before = EntryInMemory(fingerprint);
  ArtifactPtr entry = entry_after(before);
  const MutexLock lock(adding_[fingerprint.bytes[0]]);
  if (const ArtifactPtr now = EntryInMemory(fingerprint); now != before) entry = entry_after(now);
  for (Tier* tier : known == nullptr ? at_once_ : tiers_) {
    tier->Put(ManifestKey(fingerprint), entry);
  }
}

Status ManifestTable::AddFor(uid_t uid, const Digest& fingerprint, const KnownClosure& closure,
                             microseconds compile_time, uint64_t generation) {
  const MutexLock lock(adding_own_);
  const ManifestPtr own = FindOwn(uid, fingerprint);
  const ArtifactPtr entry =
      EntryWith(own == nullptr ? Manifest{} : *own, {&closure, 1}, compile_time);
  const Result<Inserted> kept = own_->Put(uid, ManifestKey(fingerprint), entry, generation);
  return kept ? Status(Ok{}) : kept.error();
}

}  // namespace cccl_cache::daemon
