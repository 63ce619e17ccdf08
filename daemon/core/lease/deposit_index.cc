// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/lease/deposit_index.h"

#include <algorithm>
#include <iterator>

namespace cccl_cache::daemon {
namespace {

constexpr std::chrono::hours kUseWritten{1};

}  // namespace

bool DepositIndex::Fits(uint64_t size) const {
  return Charge(size) <= std::min(limits_.bytes_per_uid, limits_.bytes);
}

std::vector<Digest> DepositIndex::Add(const DepositRecord& record) {
  std::vector<Digest> gone;
  const std::lock_guard lock(mutex_);
  if (const auto found = by_key_.find(record.key); found != by_key_.end()) Drop(found->second);
  // The limits may have been lowered since the deposit was made.
  if (!Fits(record.size)) return {record.key};
  const uint64_t charge = Charge(record.size);
  const Account account = usage_.AccountOf(record.uid);
  if (usage_.MustGiveWay(account, charge)) usage_.FindSomeAgain();
  while (const auto loser = usage_.MustGiveWay(account, charge)) {
    gone.push_back(users_.at(*loser).oldest_first.front().record.key);
    Drop(by_key_.at(gone.back()));
  }
  User& user = users_[record.uid];
  user.oldest_first.push_back({record, ++additions_});
  user.bytes += charge;
  usage_.Set(record.uid, account, user.bytes);
  by_key_[record.key] = std::prev(user.oldest_first.end());
  return gone;
}

std::optional<uint64_t> DepositIndex::Find(const Digest& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? std::nullopt : std::optional(found->second->addition);
}

std::optional<DepositRecord> DepositIndex::Use(const Digest& key, std::chrono::sys_seconds now) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return std::nullopt;
  DepositRecord& record = found->second->record;
  Entries& entries = users_[record.uid].oldest_first;
  entries.splice(entries.end(), entries, found->second);
  if (now - record.used < kUseWritten) return std::nullopt;
  record.used = now;
  return record;
}

bool DepositIndex::Remove(const Digest& key, uint64_t addition) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end() || found->second->addition != addition) return false;
  Drop(found->second);
  return true;
}

bool DepositIndex::RemoveOwn(const Digest& key, uid_t uid) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end() || found->second->record.uid != uid) return false;
  Drop(found->second);
  return true;
}

std::vector<DepositRecord> DepositIndex::List(uid_t uid, const std::optional<Digest>& after,
                                              size_t count) const {
  std::vector<DepositRecord> listed;
  const std::lock_guard lock(mutex_);
  const auto user = users_.find(uid);
  if (user == users_.end()) return listed;
  std::vector<const DepositRecord*> behind;
  for (const Entry& entry : user->second.oldest_first) {
    if (!after || entry.record.key > *after) behind.push_back(&entry.record);
  }
  const auto end = behind.begin() + static_cast<ptrdiff_t>(std::min(count, behind.size()));
  std::partial_sort(behind.begin(), end, behind.end(),
                    [](const DepositRecord* a, const DepositRecord* b) { return a->key < b->key; });
  for (auto record = behind.begin(); record != end; ++record) listed.push_back(**record);
  return listed;
}

TierSize DepositIndex::size() const {
  const std::lock_guard lock(mutex_);
  return {by_key_.size(), usage_.in_all()};
}

void DepositIndex::Drop(Entries::iterator entry) {
  const DepositRecord& record = entry->record;
  const auto user = users_.find(record.uid);
  user->second.bytes -= Charge(record.size);
  usage_.Set(record.uid, user->second.bytes);
  by_key_.erase(record.key);
  user->second.oldest_first.erase(entry);
  if (user->second.oldest_first.empty()) users_.erase(user);
}

}  // namespace cccl_cache::daemon
