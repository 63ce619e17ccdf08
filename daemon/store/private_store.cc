// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/private_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "daemon/core/lookup/entry.h"

namespace cccl_cache::daemon {
namespace {

constexpr uint64_t kAnyGeneration = std::numeric_limits<uint64_t>::max();

/// Returns the key under which the memory tier keeps a user's private entry.
Digest MemoryKey(uid_t uid, const Digest& key) {
  Hasher hasher;
  hasher.AppendValue("private", key.View());
  hasher.AppendValue("uid", uid);
  return hasher.Finish();
}

uint64_t ChargeOf(const PrivateUsage& usage) {
  return std::max(usage.bytes, PrivateEntries::kLeastCharge);
}

Error NotWritten(const DatabaseError& error) {
  return {ErrorCode::kUnavailable,
          fmt::format("the cache's database can't be written ({}): try again once its disk has "
                      "room",
                      error.message)};
}

}  // namespace

void PrivateStore::Load(Database& database) {
  std::vector<std::pair<Place, PrivateUsage>> stored;
  const auto take = [&](std::string_view row, std::string_view value) {
    const auto uid = UserOfRow(row);
    const auto key = KeyOfRow(row);
    const auto usage = DecodePrivateUsage(value);
    if (uid && key && usage) stored.push_back({{*uid, *key}, *usage});
    return true;
  };
  const MutexLock changing(changing_);
  usage_.Clear();
  {
    const MutexLock lock(mutex_);
    index_.Clear();
    ++changes_;
  }
  if (database.Scan(Column::kPrivateUsage, "", take)) return;
  std::ranges::stable_sort(stored, {}, [](const auto& each) { return each.second.generation; });
  for (const auto& [place, usage] : stored) {
    Note(place, usage);
    const Account account = usage_.AccountOf(place.uid);
    while (const auto loser = usage_.MustGiveWay(account, 0)) {
      if (!DropOldest(database, *loser, kAnyGeneration)) break;
    }
  }
}

bool PrivateStore::MayHave(uid_t uid, const Digest& key) {
  const MutexLock lock(mutex_);
  return index_.Find({uid, key}) != nullptr;
}

PrivateEntries::Found PrivateStore::FindInMemory(uid_t uid, const Digest& key) {
  if (memory_ == nullptr) return {};
  ArtifactPtr artifact = memory_->Get(MemoryKey(uid, key));
  if (artifact == nullptr) return {};
  return {std::move(artifact), memory_->name()};
}

PrivateEntries::Found PrivateStore::Get(uid_t uid, const Digest& key) {
  if (Found found = FindInMemory(uid, key); found.artifact != nullptr) return found;
  uint64_t changes = 0;
  {
    const MutexLock lock(mutex_);
    if (index_.Find({uid, key}) == nullptr) return {};
    changes = changes_;
  }
  const auto database = slot_.Get();
  if (!database) return {};
  Found found;
  const auto read =
      database->Read(Column::kPrivate, UserRowKey(uid, key), [&](std::string_view entry) {
        found = {DecodeEntry(key, entry), TierName::kDisk};
      });
  if (read == Database::Found::kFailed) {
    statistics_.Add(Counter::kStoreErrors);
    return {};
  }
  if (found.artifact == nullptr) {
    if (read != Database::Found::kNo) statistics_.Add(Counter::kCorruptEntries);
    Forget({uid, key});
    return {};
  }
  const MutexLock lock(mutex_);
  // If any entry was changed since the read, the artifact may be out of date. It is then not kept
  // in memory.
  if (memory_ != nullptr && changes_ == changes) {
    memory_->Put(MemoryKey(uid, key), found.artifact);
  }
  return found;
}

void PrivateStore::Forget(const Place& place) {
  const MutexLock lock(changing_);
  const auto database = slot_.Get();
  if (!database) return;
  bool sound = false;
  database->Read(Column::kPrivate, UserRowKey(place.uid, place.key),
                 [&](std::string_view entry) { sound = DecodeEntry(place.key, entry) != nullptr; });
  if (sound) return;  // the broken entry was replaced meanwhile
  // If the deletion fails, the next read finds the entry broken again.
  if (Drop(*database, place.uid, {&place.key, 1})) statistics_.Add(Counter::kStoreErrors);
}

uint64_t PrivateStore::NextGeneration(uid_t uid, std::chrono::system_clock::time_point now) {
  const auto since_1970 = now.time_since_epoch();
  const auto clock = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(since_1970).count());
  const MutexLock lock(mutex_);
  const auto user = index_.users().find(uid);
  if (user == index_.users().end()) return clock;
  return std::max(clock, user->second.oldest_first.back().value + 1);
}

Result<Inserted> PrivateStore::Put(uid_t uid, const Digest& key, const ArtifactPtr& artifact,
                                   uint64_t generation) {
  std::string entry = EncodeEntry(key, *artifact);
  const PrivateUsage usage{entry.size() + kEntryOverhead, generation};
  const MutexLock lock(changing_);
  const auto database = slot_.Get();
  if (!database) return slot_.WhyEmpty();
  const bool before = MayHave(uid, key);
  if (const Status room = MakeRoom(*database, uid, usage); !room) return room.error();
  const std::string row = UserRowKey(uid, key);
  const auto error = database->Write(
      std::vector<ColumnWrite>{{Column::kPrivate, row, std::move(entry)},
                               {Column::kPrivateUsage, row, EncodePrivateUsage(usage)}});
  if (error) return NotWritten(*error);
  Note({uid, key}, usage);
  return before ? Inserted::kBefore : Inserted::kNow;
}

void PrivateStore::Note(const Place& place, const PrivateUsage& usage) {
  const MutexLock lock(mutex_);
  ++changes_;
  static_cast<void>(index_.Insert(place.uid, place, usage.generation, ChargeOf(usage)));
  usage_.Set(place.uid, index_.users().at(place.uid).bytes);
  if (memory_ != nullptr) memory_->Remove(MemoryKey(place.uid, place.key));
}

std::optional<DatabaseError> PrivateStore::Drop(Database& database, uid_t uid,
                                                std::span<const Digest> keys) {
  std::vector<ColumnWrite> writes;
  for (const Digest& key : keys) {
    for (const Column column : {Column::kPrivate, Column::kPrivateUsage}) {
      writes.push_back({column, UserRowKey(uid, key), std::nullopt});
    }
  }
  if (auto error = database.Write(writes)) return error;
  const MutexLock lock(mutex_);
  ++changes_;
  for (const Digest& key : keys) {
    static_cast<void>(index_.Remove({uid, key}));
    if (memory_ != nullptr) memory_->Remove(MemoryKey(uid, key));
  }
  const auto user = index_.users().find(uid);
  usage_.Set(uid, user == index_.users().end() ? 0 : user->second.bytes);
  return std::nullopt;
}

Status PrivateStore::MakeRoom(Database& database, uid_t uid, const PrivateUsage& incoming) {
  usage_.FindSomeAgain();
  const Account account = usage_.AccountOf(uid);
  usage_.Set(uid, account, usage_.Of(uid));
  const uint64_t charge = ChargeOf(incoming);
  // If the entry could not fit even into an empty store, nothing is dropped for it.
  bool could_fit = charge <= std::min(limits_.per_user, limits_.in_all);
  while (true) {
    const std::optional<uid_t> loser = usage_.MustGiveWay(account, charge);
    if (could_fit && !loser) return Ok{};
    if (could_fit && usage_.AccountOf(*loser) == account) {
      could_fit = DropOldest(database, uid, incoming.generation) ||
                  DropOldestBeside(database, account, uid);
    } else if (could_fit) {
      could_fit = DropOldest(database, *loser, kAnyGeneration);
    }
    if (could_fit) continue;
    if (usage_.Of(account) + charge > limits_.per_user) {
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

bool PrivateStore::DropOldest(Database& database, uid_t uid, uint64_t generation) {
  Digest oldest;
  {
    const MutexLock lock(mutex_);
    const auto user = index_.users().find(uid);
    if (user == index_.users().end()) return false;
    const Index::Entry& entry = user->second.oldest_first.front();
    if (entry.value >= generation) return false;
    oldest = entry.key.key;
  }
  return !Drop(database, uid, {&oldest, 1});
}

// The entries of the account's other uids are older, because an account inserts one snapshot at a
// time. So their generation is not compared.
bool PrivateStore::DropOldestBeside(Database& database, Account account, uid_t uid) {
  const auto other = usage_.LargestBeside(account, uid);
  if (!other) return false;
  if (usage_.FindAgain(*other))
    return true;  // the uid now counts for another account, so this account holds less
  return DropOldest(database, *other, kAnyGeneration);
}

std::vector<uid_t> PrivateStore::Users() {
  std::vector<uid_t> uids;
  const MutexLock lock(mutex_);
  for (const auto& [uid, share] : index_.users()) uids.push_back(uid);
  return uids;
}

std::vector<PrivateStore::Listed> PrivateStore::List(uid_t uid, std::string_view from,
                                                     size_t most) {
  std::vector<Listed> listed;
  {
    const MutexLock lock(mutex_);
    const auto user = index_.users().find(uid);
    if (user == index_.users().end()) return listed;
    for (const Index::Entry& entry : user->second.oldest_first) {
      if (entry.key.key.View() >= from) listed.push_back({entry.key.key, entry.bytes});
    }
  }
  const auto end = listed.begin() + static_cast<ptrdiff_t>(std::min(most, listed.size()));
  std::ranges::partial_sort(listed, end, {}, &Listed::key);
  listed.erase(end, listed.end());
  return listed;
}

Result<TierSize> PrivateStore::Remove(uid_t uid, std::span<const Digest> keys) {
  const MutexLock changing(changing_);
  const auto database = slot_.Get();
  if (!database) return slot_.WhyEmpty();
  TierSize removed;
  std::vector<Digest> held;
  {
    const MutexLock lock(mutex_);
    for (const Digest& key : keys) {
      const auto* const entry = index_.Find({uid, key});
      if (entry == nullptr) continue;
      held.push_back(key);
      ++removed.entries;
      removed.bytes += entry->bytes;
    }
  }
  if (held.empty()) return removed;
  if (const auto error = Drop(*database, uid, held)) return NotWritten(*error);
  return removed;
}

Soundness PrivateStore::Verify(uid_t uid, const Digest& key) {
  const auto database = slot_.Get();
  if (!database) return Soundness::kUnreadable;
  const Soundness found = VerifyEntry(*database, Column::kPrivate, UserRowKey(uid, key), key);
  if (found == Soundness::kUnreadable) statistics_.Add(Counter::kStoreErrors);
  if (found != Soundness::kBroken) return found;
  statistics_.Add(Counter::kCorruptEntries);
  Forget({uid, key});
  return Soundness::kBroken;
}

}  // namespace cccl_cache::daemon
