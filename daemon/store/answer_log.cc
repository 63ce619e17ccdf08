// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/answer_log.h"

#include <algorithm>
#include <utility>

#include "base/codec.h"
#include "daemon/core/model/account.h"
#include "daemon/store/rows.h"

namespace cccl_cache::daemon {
namespace {

// The rows are in the order of digests, which are distributed evenly. So 512 neighbouring rows are
// a fair sample of a user's rows. At most the oldest quarter of a sample is dropped.
constexpr size_t kSample = 512;
constexpr size_t kDroppedPart = 4;
/// One write drops rows from at most one sample per written row, plus this many. It can thus drop
/// at least as many rows as it adds.
constexpr size_t kRounds = 64;

bool HasRow(Database& database, std::string_view key) {
  return database.Read(Column::kAnswered, key, [](std::string_view) {}) == Database::Found::kYes;
}

constexpr size_t kMaxWaiting = 65'536;

}  // namespace

uint64_t AnsweredTable::CountOf(Database& database, uid_t uid, Plan& plan) {
  const auto planned = plan.counts.find(uid);
  if (planned != plan.counts.end()) return planned->second;
  uint64_t count = 0;
  database.Read(Column::kAnswered, UserRowPrefix(uid),
                [&](std::string_view value) { count = ByteReader(value).Take<uint64_t>(); });
  return plan.counts[uid] = count;
}

std::optional<DatabaseError> AnsweredTable::Commit(Database& database, Plan plan) {
  for (const auto& [uid, count] : plan.counts) {
    std::optional<std::string> value;
    if (count > 0) value = ByteWriter().Put(count).Joined();
    plan.writes.push_back({Column::kAnswered, UserRowPrefix(uid), std::move(value)});
  }
  if (auto error = database.Write(plan.writes)) return error;
  for (const auto& [uid, count] : plan.counts) {
    if (uid != kAll) usage_.Set(uid, count);
  }
  return std::nullopt;
}

void AnsweredTable::CountAll(Database& database) {
  usage_.Clear();
  std::vector<uid_t> users;
  ReadUsers(database, &users);
  for (const uid_t uid : users) {
    Plan plan;
    usage_.Set(uid, CountOf(database, uid, plan));
  }
  counted_ = true;
}

std::optional<DatabaseError> AnsweredTable::Write(Database& database, const Rows& rows) {
  if (rows.empty()) return std::nullopt;
  if (!counted_) CountAll(database);
  Plan plan;
  std::map<uid_t, Digest> latest;
  for (const auto& [place, build] : rows) {
    const auto& [uid, key] = place;
    std::string row = UserRowKey(uid, key);
    if (!HasRow(database, row)) {
      plan.counts[uid] = CountOf(database, uid, plan) + 1;
      plan.counts[kAll] = CountOf(database, kAll, plan) + 1;
    }
    latest[uid] = key;
    plan.writes.push_back({Column::kAnswered, std::move(row), EncodeAnswered(build)});
  }
  if (auto error = Commit(database, std::move(plan))) return error;
  usage_.FindSomeAgain();
  size_t rounds = rows.size() + kRounds;
  for (const auto& [uid, key] : latest) {
    while (const auto loser = usage_.MustGiveWay(usage_.AccountOf(uid), 0)) {
      if (rounds-- == 0) return std::nullopt;
      if (auto error = DropOldest(database, *loser, key)) return error;
    }
  }
  return std::nullopt;
}

std::optional<DatabaseError> AnsweredTable::DropOldest(Database& database, uid_t uid,
                                                       const Digest& start) {
  const std::string prefix = UserRowPrefix(uid);
  const std::string first = UserRowKey(uid, start);
  std::vector<std::pair<std::chrono::sys_seconds, std::string>> sample;
  const auto collect = [&](std::string_view key, std::string_view value) {
    if (!key.starts_with(prefix)) return false;
    if (KeyOfRow(key)) {
      sample.emplace_back(DecodeAnswered(value).value_or(AnsweredBuild{}).last, key);
    }
    return sample.size() < kSample;
  };
  if (auto error = database.Scan(Column::kAnswered, first, collect)) return error;
  const auto until_first = [&](std::string_view key, std::string_view value) {
    return key < first && collect(key, value);
  };
  if (sample.size() < kSample) {
    if (auto error = database.Scan(Column::kAnswered, prefix, until_first)) return error;
  }
  std::sort(sample.begin(), sample.end());
  Plan plan;
  const uint64_t count = CountOf(database, uid, plan);
  // If there are no rows, a count above zero is wrong. It is then set to zero.
  uint64_t dropped = count;
  if (!sample.empty()) {
    const auto above = [](uint64_t held, uint64_t limit) { return held - std::min(held, limit); };
    const uint64_t surplus = std::max(above(usage_.Of(usage_.AccountOf(uid)), limits_.per_account),
                                      above(usage_.in_all(), limits_.in_all));
    const uint64_t part = (sample.size() + kDroppedPart - 1) / kDroppedPart;
    sample.resize(std::clamp<uint64_t>(surplus, 1, part));
    dropped = std::min<uint64_t>(count, sample.size());
  }
  const uint64_t in_all = CountOf(database, kAll, plan);
  plan.counts[uid] = count - dropped;
  plan.counts[kAll] = in_all - std::min(in_all, dropped);
  for (auto& [last, key] : sample) {
    plan.writes.push_back({Column::kAnswered, std::move(key), std::nullopt});
  }
  return Commit(database, std::move(plan));
}

void AnsweredTable::Read(Database& database, uid_t uid, Rows* rows) {
  const std::string prefix = UserRowPrefix(uid);
  // An error of the scan is ignored: rows that can't be read do not go into snapshots.
  static_cast<void>(
      database.Scan(Column::kAnswered, prefix, [&](std::string_view row, std::string_view value) {
        if (!row.starts_with(prefix)) return false;
        const auto key = KeyOfRow(row);
        auto build = DecodeAnswered(value);
        if (!key || !build) return true;
        build->key = *key;
        rows->insert_or_assign({uid, *key}, *std::move(build));
        return true;
      }));
}

bool AnsweredTable::Has(Database& database, uid_t uid, const Digest& key) {
  return HasRow(database, UserRowKey(uid, key));
}

void AnsweredTable::ReadKeys(Database& database, uid_t uid, const DigestPrefix& prefix, size_t most,
                             std::set<Digest>* keys) {
  const std::string user = UserRowPrefix(uid);
  size_t found = 0;
  // An error of the scan is ignored: keys that can't be read are left out.
  static_cast<void>(database.Scan(Column::kAnswered, UserRowKey(uid, prefix.First()),
                                  [&](std::string_view row, std::string_view) {
                                    const auto key =
                                        row.starts_with(user) ? KeyOfRow(row) : std::nullopt;
                                    if (!key || !prefix.Matches(*key)) return false;
                                    keys->insert(*key);
                                    return ++found < most;
                                  }));
}

void AnsweredTable::ReadUsers(Database& database, std::vector<uid_t>* users) {
  std::optional<uid_t> next = 0;
  while (next) {
    std::optional<uid_t> found;
    const auto first = [&](std::string_view row, std::string_view) {
      found = UserOfRow(row);
      return false;
    };
    if (database.Scan(Column::kAnswered, UserRowPrefix(*next), first)) return;
    next.reset();
    if (!found || *found == kAll) return;
    users->push_back(*found);
    next = *found + 1;
  }
}

void AnsweredLedger::Note(uid_t uid, AnsweredBuild build) {
  if (uid == kOverflowUid) return;
  const MutexLock lock(mutex_);
  const std::pair place(uid, build.key);
  if (waiting_.size() + writing_.size() >= kMaxWaiting && !waiting_.contains(place)) return;
  waiting_.insert_or_assign(place, std::move(build));
}

std::vector<AnsweredBuild> AnsweredLedger::Of(uid_t uid) {
  AnsweredTable::Rows rows;
  const auto add = [&](const AnsweredTable::Rows& from) {
    for (const auto& [place, build] : from) {
      if (place.first == uid) rows.insert_or_assign(place, build);
    }
  };
  // The queued rows are copied before the database is read, so that no row is missed that is
  // written in between. They are added last, because they are newer.
  AnsweredTable::Rows unwritten;
  {
    const MutexLock lock(mutex_);
    add(writing_);
    add(waiting_);
    std::swap(rows, unwritten);
  }
  if (const auto database = slot_.Get()) AnsweredTable::Read(*database, uid, &rows);
  add(unwritten);
  std::vector<AnsweredBuild> builds;
  builds.reserve(rows.size());
  for (auto& [place, build] : rows) builds.push_back(std::move(build));
  return builds;
}

std::vector<Digest> AnsweredLedger::KeysWith(uid_t uid, const DigestPrefix& prefix, size_t most) {
  std::set<Digest> keys;
  {
    const MutexLock lock(mutex_);
    for (const auto* rows : {&writing_, &waiting_}) {
      size_t found = 0;
      for (auto row = rows->lower_bound({uid, prefix.First()});
           row != rows->end() && row->first.first == uid && prefix.Matches(row->first.second) &&
           found < most;
           ++row, ++found) {
        keys.insert(row->first.second);
      }
    }
  }
  if (const auto database = slot_.Get()) {
    AnsweredTable::ReadKeys(*database, uid, prefix, most, &keys);
  }
  std::vector<Digest> lowest(keys.begin(), keys.end());
  lowest.resize(std::min(lowest.size(), most));
  return lowest;
}

bool AnsweredLedger::Has(uid_t uid, const Digest& key) {
  {
    const MutexLock lock(mutex_);
    const std::pair place(uid, key);
    if (waiting_.contains(place) || writing_.contains(place)) return true;
  }
  const auto database = slot_.Get();
  return database && AnsweredTable::Has(*database, uid, key);
}

std::vector<uid_t> AnsweredLedger::Users() {
  std::vector<uid_t> users;
  {
    const MutexLock lock(mutex_);
    for (const auto* rows : {&writing_, &waiting_}) {
      for (const auto& [place, build] : *rows) users.push_back(place.first);
    }
  }
  if (const auto database = slot_.Get()) AnsweredTable::ReadUsers(*database, &users);
  std::sort(users.begin(), users.end());
  users.erase(std::unique(users.begin(), users.end()), users.end());
  return users;
}

const AnsweredTable::Rows& AnsweredLedger::Next() {
  const MutexLock lock(mutex_);
  for (auto& [place, build] : waiting_) writing_.insert_or_assign(place, std::move(build));
  waiting_.clear();
  return writing_;
}

void AnsweredLedger::Written() {
  AnsweredTable::Rows written;  // declared before the lock, so freed after the unlock
  const MutexLock lock(mutex_);
  written = std::exchange(writing_, {});
}

}  // namespace cccl_cache::daemon
