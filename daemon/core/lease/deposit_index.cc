// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/lease/deposit_index.h"

#include <algorithm>

namespace cccl_cache::daemon {
namespace {

constexpr std::chrono::hours kUseWritten{1};

}  // namespace

bool DepositIndex::Fits(uint64_t size) const {
  return Charge(size) <= std::min(limits_.bytes_per_uid, limits_.bytes);
}

std::vector<Digest> DepositIndex::Add(const DepositRecord& record) {
  std::vector<Digest> gone;
  const MutexLock lock(mutex_);
  Drop(record.key);
  // A deposit may exceed the limits if they have been lowered since it was stored.
  if (!Fits(record.size)) return {record.key};
  const uint64_t charge = Charge(record.size);
  const Account account = usage_.AccountOf(record.uid);
  if (usage_.MustGiveWay(account, charge)) usage_.FindSomeAgain();
  while (const auto loser = usage_.MustGiveWay(account, charge)) {
    gone.push_back(entries_.users().at(*loser).oldest_first.front().key);
    Drop(gone.back());
  }
  static_cast<void>(entries_.Insert(record.uid, record.key, {record, ++additions_}, charge));
  usage_.Set(record.uid, account, entries_.users().at(record.uid).bytes);
  return gone;
}

std::optional<uint64_t> DepositIndex::Find(const Digest& key) const {
  const MutexLock lock(mutex_);
  const auto* const found = entries_.Find(key);
  return found == nullptr ? std::nullopt : std::optional(found->value.addition);
}

std::chrono::microseconds DepositIndex::TimeOf(const Digest& key) const {
  const MutexLock lock(mutex_);
  const auto* const found = entries_.Find(key);
  return found == nullptr ? std::chrono::microseconds{0} : found->value.record.took;
}

bool DepositIndex::IsMadeBy(const Digest& key, uid_t uid) const {
  const MutexLock lock(mutex_);
  const auto* const found = entries_.Find(key);
  return found != nullptr && found->user == uid && !found->value.record.is_fetched;
}

std::optional<DepositRecord> DepositIndex::Use(const Digest& key, std::chrono::sys_seconds now) {
  const MutexLock lock(mutex_);
  Kept* const used = entries_.Use(key);
  if (used == nullptr || now - used->record.used < kUseWritten) return std::nullopt;
  used->record.used = now;
  return used->record;
}

bool DepositIndex::Remove(const Digest& key, uint64_t addition) {
  const MutexLock lock(mutex_);
  const auto* const found = entries_.Find(key);
  if (found == nullptr || found->value.addition != addition) return false;
  Drop(key);
  return true;
}

std::optional<DepositRecord> DepositIndex::RemoveOwn(const Digest& key, uid_t uid) {
  const MutexLock lock(mutex_);
  const auto* const found = entries_.Find(key);
  if (found == nullptr || found->user != uid) return std::nullopt;
  DepositRecord record = found->value.record;
  Drop(key);
  return record;
}

std::vector<DepositRecord> DepositIndex::List(uid_t uid, const std::optional<Digest>& after,
                                              size_t count) const {
  std::vector<DepositRecord> listed;
  const MutexLock lock(mutex_);
  const auto user = entries_.users().find(uid);
  if (user == entries_.users().end()) return listed;
  std::vector<const DepositRecord*> behind;
  for (const Lru::Entry& entry : user->second.oldest_first) {
    if (!after || entry.key > *after) behind.push_back(&entry.value.record);
  }
  const auto end = behind.begin() + static_cast<ptrdiff_t>(std::min(count, behind.size()));
  std::partial_sort(behind.begin(), end, behind.end(),
                    [](const DepositRecord* a, const DepositRecord* b) { return a->key < b->key; });
  for (auto record = behind.begin(); record != end; ++record) listed.push_back(**record);
  return listed;
}

std::vector<uid_t> DepositIndex::Users() const {
  std::vector<uid_t> users;
  const MutexLock lock(mutex_);
  for (const auto& [uid, share] : entries_.users()) users.push_back(uid);
  return users;
}

TierSize DepositIndex::size() const {
  const MutexLock lock(mutex_);
  return {entries_.size(), entries_.bytes()};
}

void DepositIndex::Drop(const Digest& key) {
  const Lru::Entries gone = entries_.Remove(key);
  if (gone.empty()) return;
  const uid_t uid = gone.front().user;
  usage_.Set(uid, usage_.Of(uid) - gone.front().bytes);
}

}  // namespace cccl_cache::daemon
