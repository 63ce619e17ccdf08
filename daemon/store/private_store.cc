// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/private_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "daemon/core/lookup/entry.h"
#include "daemon/store/rows.h"

namespace cccl_cache::daemon {
namespace {

// Number of entries that one write drops at most.
constexpr size_t kMaxDropped = 4'096;

Digest MemoryKey(uid_t uid, const Digest& key) {
  Hasher hasher;
  hasher.AppendValue("private", key.View());
  hasher.AppendValue("uid", uid);
  return hasher.Finish();
}

/// Returns none if the row can't be read, and zero usage if there is no row.
std::optional<PrivateUsage> ReadUsage(Database& database, const std::string& row) {
  PrivateUsage usage;
  const auto found = database.Read(Column::kPrivateUsage, row, [&](std::string_view value) {
    usage = DecodePrivateUsage(value).value_or(PrivateUsage{});
  });
  const bool known = found == Database::Found::kYes || found == Database::Found::kNo;
  return known ? std::optional(usage) : std::nullopt;
}

PrivateUsage UsageOf(Database& database, const std::string& row) {
  return ReadUsage(database, row).value_or(PrivateUsage{});
}

Error NotWritten(const DatabaseError& error) {
  return {ErrorCode::kUnavailable,
          fmt::format("the cache's database can't be written ({}): try again once its disk has "
                      "room",
                      error.message)};
}

}  // namespace

bool PrivateKeys::MayHave(uid_t uid, const Digest& key) const {
  const auto user = users_.find(uid);
  if (user == users_.end()) return false;
  return !user->second.keys || user->second.keys->contains(key);
}

std::vector<uid_t> PrivateKeys::Users() const {
  std::vector<uid_t> uids;
  for (const auto& [uid, user] : users_) uids.push_back(uid);
  std::ranges::sort(uids);
  return uids;
}

bool PrivateKeys::Lacks(uid_t uid) const {
  const auto user = users_.find(uid);
  return user != users_.end() && !user->second.keys && !user->second.too_many;
}

void PrivateKeys::Learn(uid_t uid, Keys keys) {
  User& user = users_[uid];
  Drop(user);
  const size_t added = keys.size();
  user.keys = std::move(keys);
  Count(user, added);
}

void PrivateKeys::Add(uid_t uid, const Digest& key) {
  User& user = users_[uid];
  if (user.keys && user.keys->insert(key).second) Count(user, 1);
}

void PrivateKeys::Remove(uid_t uid, const Digest& key) {
  const auto user = users_.find(uid);
  if (user == users_.end() || !user->second.keys) return;
  known_ -= user->second.keys->erase(key);
}

void PrivateKeys::Forget(uid_t uid) { Drop(users_[uid]); }

void PrivateKeys::Count(User& user, size_t added) {
  known_ += added;
  if (user.keys->size() <= bounds_.per_user && known_ <= bounds_.in_all) return;
  Drop(user);
  user.too_many = true;
}

void PrivateKeys::Drop(User& user) {
  if (user.keys) known_ -= user.keys->size();
  user.keys.reset();
}

void PrivateStore::Load(Database& database) {
  const MutexLock changing(changing_);
  usage_.Clear();
  for (uid_t next = 0; next != kAll;) {
    std::optional<uid_t> found;
    PrivateUsage total;
    const auto first = [&](std::string_view row, std::string_view value) {
      found = UserOfRow(row);
      if (!KeyOfRow(row)) total = DecodePrivateUsage(value).value_or(PrivateUsage{});
      return false;
    };
    if (database.Scan(Column::kPrivateUsage, UserRowPrefix(next), first)) return;
    if (!found || *found == kAll) return;
    usage_.Set(*found, total.bytes);
    const MutexLock lock(mutex_);
    keys_.AddUser(*found);
    next = *found + 1;
  }
}

bool PrivateStore::MayHave(uid_t uid, const Digest& key) {
  const MutexLock lock(mutex_);
  return keys_.MayHave(uid, key);
}

void PrivateStore::LearnKeys(Database& database, uid_t uid) {
  if (!changing_.try_lock()) return;
  const MutexLock changing(changing_, std::adopt_lock);
  {
    const MutexLock lock(mutex_);
    if (!keys_.Lacks(uid)) return;
  }
  const std::string prefix = UserRowPrefix(uid);
  PrivateKeys::Keys keys;
  const auto take = [&](std::string_view row, std::string_view) {
    if (!row.starts_with(prefix)) return false;
    if (const auto key = KeyOfRow(row)) keys.insert(*key);
    return keys.size() <= limits_.known_keys.per_user;
  };
  if (database.Scan(Column::kPrivateUsage, prefix, take)) return;
  const MutexLock lock(mutex_);
  keys_.Learn(uid, std::move(keys));
}

PrivateEntries::Found PrivateStore::FindInMemory(uid_t uid, const Digest& key) {
  if (memory_ == nullptr) return {};
  ArtifactPtr artifact = memory_->Get(MemoryKey(uid, key));
  if (artifact == nullptr) return {};
  return {std::move(artifact), memory_->name()};
}

PrivateEntries::Found PrivateStore::Get(uid_t uid, const Digest& key) {
  if (Found found = FindInMemory(uid, key); found.artifact != nullptr) return found;
  const uint64_t changes = Changes();
  const auto database = slot_.Get();
  if (!database) return {};
  LearnKeys(*database, uid);
  Found found;
  switch (database->Read(Column::kPrivate, UserRowKey(uid, key), [&](std::string_view entry) {
    found = {DecodeEntry(key, entry), TierName::kDisk};
  })) {
    case Database::Found::kNo:
      return {};
    case Database::Found::kFailed:
      statistics_.Add(Counter::kStoreErrors);
      return {};
    case Database::Found::kYes:
    case Database::Found::kDamaged:
      break;
  }
  if (found.artifact == nullptr) {
    statistics_.Add(Counter::kCorruptEntries);
    Forget(uid, key);
    return {};
  }
  const MutexLock lock(mutex_);
  // An entry that was read before a change must not be found after it.
  if (memory_ != nullptr && changes_ == changes) {
    memory_->Put(MemoryKey(uid, key), found.artifact);
  }
  return found;
}

uint64_t PrivateStore::Changes() {
  const MutexLock lock(mutex_);
  return changes_;
}

void PrivateStore::Forget(uid_t uid, const Digest& key) {
  const MutexLock lock(changing_);
  const auto database = slot_.Get();
  if (!database) return;
  const std::string row = UserRowKey(uid, key);
  bool sound = false;
  database->Read(Column::kPrivate, row,
                 [&](std::string_view entry) { sound = DecodeEntry(key, entry) != nullptr; });
  if (sound) return;  // another entry replaced it meanwhile
  Plan plan;
  Remove(*database, uid, key, UsageOf(*database, row), plan);
  // An entry that could not be deleted is found broken again.
  if (Commit(*database, std::move(plan))) statistics_.Add(Counter::kStoreErrors);
}

uint64_t PrivateStore::NextGeneration(uid_t uid, std::chrono::system_clock::time_point now) {
  const auto since_1970 = now.time_since_epoch();
  const auto clock = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(since_1970).count());
  const MutexLock lock(changing_);
  const auto database = slot_.Get();
  if (!database) return clock;
  return std::max(clock, UsageOf(*database, UserRowPrefix(uid)).generation + 1);
}

Result<Inserted> PrivateStore::Put(uid_t uid, const Digest& key, const ArtifactPtr& artifact,
                                   uint64_t generation) {
  std::string entry = EncodeEntry(key, *artifact);
  const PrivateUsage usage{entry.size() + kEntryOverhead, generation};
  const MutexLock lock(changing_);
  const auto database = slot_.Get();
  if (!database) return slot_.WhyEmpty();
  const std::string row = UserRowKey(uid, key);
  const bool before = UsageOf(*database, row).bytes > 0;
  if (const Status room = MakeRoom(*database, uid, usage); !room) return room.error();
  Plan plan;
  if (const PrivateUsage old = UsageOf(*database, row); old.bytes > 0) {
    Remove(*database, uid, key, old, plan);
  }
  for (const uid_t counted : {uid, kAll}) {
    PrivateUsage& total = TotalOf(*database, counted, plan);
    total.bytes += usage.bytes;
    total.generation = std::max(total.generation, generation);
  }
  plan.writes.push_back({Column::kPrivate, row, std::move(entry)});
  plan.writes.push_back({Column::kPrivateUsage, row, EncodePrivateUsage(usage)});
  plan.writes.push_back({Column::kPrivateOrder, OrderRowKey(uid, generation, key), ""});
  plan.changed.push_back(MemoryKey(uid, key));
  if (const auto error = Commit(*database, std::move(plan))) return NotWritten(*error);
  return before ? Inserted::kBefore : Inserted::kNow;
}

Status PrivateStore::MakeRoom(Database& database, uid_t uid, const PrivateUsage& incoming) {
  usage_.FindSomeAgain();
  const Account account = usage_.AccountOf(uid);
  // Drops nothing for an entry that would not fit even then.
  bool could_fit = incoming.bytes <= std::min(limits_.per_user, limits_.in_all);
  while (true) {
    Plan now;
    // A database that was recreated has other totals.
    usage_.Set(uid, account, TotalOf(database, uid, now).bytes);
    const std::optional<uid_t> loser = usage_.MustGiveWay(account, incoming.bytes);
    if (could_fit && !loser) return Ok{};
    const uint64_t mine = usage_.Of(account) + incoming.bytes;
    const uint64_t all = usage_.in_all() + incoming.bytes;
    const bool mine_fits = mine <= limits_.per_user;
    const uint64_t surplus = mine_fits ? all - limits_.in_all : mine - limits_.per_user;
    if (could_fit && usage_.AccountOf(*loser) == account) {
      could_fit = DropOldest(database, uid, surplus, incoming.generation) ||
                  DropOldestBeside(database, account, uid, surplus);
    } else if (could_fit) {
      could_fit = DropOldestOfAnother(database, *loser, surplus);
    }
    if (could_fit) continue;
    if (!mine_fits) {
      return Error{ErrorCode::kOverloaded,
                   fmt::format("{} may have {} bytes of entries of its own, and this is more: "
                               "insert less, or raise private_limit_per_uid",
                               account.Name(), limits_.per_user)};
    }
    return Error{ErrorCode::kOverloaded,
                 fmt::format("the entries that users inserted for themselves take {} of at most "
                             "{} bytes: raise private_limit",
                             usage_.in_all(), limits_.in_all)};
  }
}

// An account inserts one snapshot at a time, so the entries of its other uids were there before.
bool PrivateStore::DropOldestBeside(Database& database, Account account, uid_t uid,
                                    uint64_t surplus) {
  const auto other = usage_.LargestBeside(account, uid);
  if (!other) return false;
  if (usage_.FindAgain(*other)) return true;  // it is another account's, so this one has less
  return DropOldestOfAnother(database, *other, surplus);
}

bool PrivateStore::DropOldestOfAnother(Database& database, uid_t uid, uint64_t surplus) {
  const uint64_t held = usage_.Of(uid);
  if (!DropOldest(database, uid, surplus, std::numeric_limits<uint64_t>::max())) {
    // Either the disk refuses, or this uid has nothing in a recreated database.
    const auto total = ReadUsage(database, UserRowPrefix(uid));
    if (!total) return false;
    usage_.Set(uid, total->bytes);
  }
  return usage_.Of(uid) < held;
}

PrivateUsage& PrivateStore::TotalOf(Database& database, uid_t uid, Plan& plan) {
  const auto [place, read] = plan.totals.try_emplace(uid);
  if (read) place->second = UsageOf(database, UserRowPrefix(uid));
  return place->second;
}

std::optional<DatabaseError> PrivateStore::Commit(Database& database, Plan plan) {
  for (const auto& [uid, total] : plan.totals) {
    plan.writes.push_back({Column::kPrivateUsage, UserRowPrefix(uid), EncodePrivateUsage(total)});
  }
  auto error = database.Write(plan.writes);
  for (const auto& [uid, total] : plan.totals) {
    if (!error && uid != kAll) usage_.Set(uid, total.bytes);
  }
  const MutexLock lock(mutex_);
  ++changes_;
  for (const ColumnWrite& write : plan.writes) {
    if (write.column != Column::kPrivate) continue;
    const uid_t uid = *UserOfRow(write.key);
    if (error) {
      keys_.Forget(uid);
    } else if (write.value) {
      keys_.Add(uid, *KeyOfRow(write.key));
    } else {
      keys_.Remove(uid, *KeyOfRow(write.key));
    }
  }
  if (memory_ != nullptr) {
    for (const Digest& key : plan.changed) memory_->Remove(key);
  }
  return error;
}

void PrivateStore::Remove(Database& database, uid_t uid, const Digest& key,
                          const PrivateUsage& usage, Plan& plan) {
  for (const uid_t counted : {uid, kAll}) {
    uint64_t& total = TotalOf(database, counted, plan).bytes;
    total -= std::min(total, usage.bytes);
  }
  const std::string row = UserRowKey(uid, key);
  plan.writes.push_back({Column::kPrivate, row, std::nullopt});
  plan.writes.push_back({Column::kPrivateUsage, row, std::nullopt});
  plan.writes.push_back(
      {Column::kPrivateOrder, OrderRowKey(uid, usage.generation, key), std::nullopt});
  plan.changed.push_back(MemoryKey(uid, key));
}

bool PrivateStore::DropOldest(Database& database, uid_t uid, uint64_t surplus,
                              uint64_t generation) {
  const std::string prefix = UserRowPrefix(uid);
  std::string& start = dropped_up_to_.try_emplace(uid, prefix).first->second;
  Plan plan;
  std::string last;
  uint64_t freed = 0;
  size_t dropped = 0;
  const auto drop = [&](std::string_view row_key, std::string_view) {
    const auto row = DecodeOrderRow(row_key);
    if (!row || !row_key.starts_with(prefix) || row->generation >= generation) return false;
    const PrivateUsage usage = UsageOf(database, UserRowKey(uid, row->key));
    Remove(database, uid, row->key, {usage.bytes, row->generation}, plan);
    last = row_key;
    freed += usage.bytes;
    return freed < surplus && ++dropped < kMaxDropped;
  };
  if (database.Scan(Column::kPrivateOrder, start, drop)) return false;
  if (!last.empty()) {
    if (Commit(database, std::move(plan))) return false;
    start = last;
    return true;
  }
  // A recreated database may have rows before `start` again.
  return std::exchange(start, prefix) != prefix && DropOldest(database, uid, surplus, generation);
}

std::vector<uid_t> PrivateStore::Users() {
  const MutexLock lock(mutex_);
  return keys_.Users();
}

Result<std::vector<PrivateStore::Listed>> PrivateStore::List(uid_t uid, std::string_view from,
                                                             size_t most) {
  const auto database = slot_.Get();
  if (!database) return slot_.WhyEmpty();
  const std::string prefix = UserRowPrefix(uid);
  std::vector<Listed> listed;
  const auto add = [&](std::string_view row, std::string_view value) {
    if (!row.starts_with(prefix)) return false;
    if (const auto key = KeyOfRow(row)) {
      listed.push_back({*key, DecodePrivateUsage(value).value_or(PrivateUsage{}).bytes});
    }
    return listed.size() < most;
  };
  const std::string first = std::string(prefix).append(from);
  if (const auto error = database->Scan(Column::kPrivateUsage, first, add)) {
    return CannotRead(*error);
  }
  return listed;
}

Result<TierSize> PrivateStore::Remove(uid_t uid, std::span<const Digest> keys) {
  const MutexLock lock(changing_);
  const auto database = slot_.Get();
  if (!database) return slot_.WhyEmpty();
  TierSize removed;
  Plan plan;
  for (const Digest& key : keys) {
    const PrivateUsage usage = UsageOf(*database, UserRowKey(uid, key));
    if (usage.bytes == 0) continue;
    Remove(*database, uid, key, usage, plan);
    ++removed.entries;
    removed.bytes += usage.bytes;
  }
  if (removed.entries == 0) return removed;
  if (const auto error = Commit(*database, std::move(plan))) return NotWritten(*error);
  return removed;
}

Soundness PrivateStore::Verify(uid_t uid, const Digest& key) {
  const auto database = slot_.Get();
  if (!database) return Soundness::kUnreadable;
  const Soundness found = VerifyEntry(*database, Column::kPrivate, UserRowKey(uid, key), key);
  if (found == Soundness::kUnreadable) statistics_.Add(Counter::kStoreErrors);
  if (found != Soundness::kBroken) return found;
  statistics_.Add(Counter::kCorruptEntries);
  Forget(uid, key);
  return Soundness::kBroken;
}

}  // namespace cccl_cache::daemon
