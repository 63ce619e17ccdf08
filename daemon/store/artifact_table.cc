// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/artifact_table.h"

#include <algorithm>
#include <utility>

#include "daemon/core/lookup/entry.h"

namespace cccl_cache::daemon {
namespace {

constexpr std::string_view kTotalsName = "store.totals";
constexpr std::string_view kMetaPrefix = "user.";
// The rows are in the order of digests, which are distributed evenly. So 512 neighbouring rows are
// a fair sample. One round of eviction removes the quarter of a sample with the lowest KeepValue.
constexpr size_t kCandidates = 512;
constexpr size_t kEvictedAtOnce = kCandidates / 4;
constexpr int kEvictionRounds = 16;
// One fifth of the limit is reserved for the write-ahead log and for rewriting the oldest files.
// The files may take the other four fifths.
constexpr uint64_t kReserve = 5;
// With a limit below this number of bytes there are too few files for that, so their size is not
// bounded.
constexpr uint64_t kLeastBounded = 64u << 20;

std::chrono::sys_seconds CurrentSecond() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

DatabaseError Unreadable() {
  return {DatabaseError::Kind::kDamaged, "the usage of an entry can't be read"};
}

}  // namespace

void UsageLedger::Used(const Digest& key, uint64_t hits) {
  constexpr size_t kMax = 16384;
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const MutexLock lock(mutex_);
  if (pending_.size() >= kMax && !pending_.contains(key)) return;
  Uses& uses = pending_[key];
  uses.hits += hits;
  uses.last = now;
}

UsageLedger::Pending UsageLedger::Take() {
  const MutexLock lock(mutex_);
  return std::exchange(pending_, {});
}

std::optional<DatabaseError> ArtifactTable::Load(Database& database, bool recount) {
  std::optional<TierSize> totals;
  const auto found = database.Read(Column::kMeta, kTotalsName,
                                   [&](std::string_view value) { totals = DecodeTotals(value); });
  if (found != Database::Found::kYes || !totals || recount) return Recount(database);
  entries_ = totals->entries;
  bytes_ = totals->bytes;
  return std::nullopt;
}

std::optional<DatabaseError> ArtifactTable::Recount(Database& database) {
  TierSize totals;
  auto error = database.Scan(Column::kUsage, "", [&](std::string_view, std::string_view value) {
    ++totals.entries;
    totals.bytes += DecodeUsage(value).value_or(UsageRecord{}).bytes;
    return true;
  });
  if (error) return error;
  return Commit(database, {{}, totals});
}

std::optional<DatabaseError> ArtifactTable::Commit(Database& database, Plan plan) {
  plan.writes.push_back({Column::kMeta, std::string(kTotalsName), EncodeTotals(plan.totals)});
  if (auto error = database.Write(plan.writes)) return error;
  entries_ = plan.totals.entries;
  bytes_ = plan.totals.bytes;
  return std::nullopt;
}

ArtifactTable::Lookup ArtifactTable::FindUsage(Database& database, const Digest& key) {
  Lookup lookup;
  switch (database.Read(Column::kUsage, key.View(), [&](std::string_view value) {
    lookup.record = DecodeUsage(value).value_or(UsageRecord{});
  })) {
    case Database::Found::kYes:
    case Database::Found::kNo:
      break;
    case Database::Found::kDamaged:
      lookup.error = Unreadable();
      break;
    case Database::Found::kFailed:
      lookup.error = Unreadable();
      lookup.error->kind = DatabaseError::Kind::kUnavailable;
      break;
  }
  return lookup;
}

void ArtifactTable::Remove(Plan& plan, std::string_view key, const UsageRecord& record) {
  plan.writes.push_back({Column::kArtifacts, std::string(key), std::nullopt});
  plan.writes.push_back({Column::kUsage, std::string(key), std::nullopt});
  plan.totals.entries -= std::min<uint64_t>(plan.totals.entries, 1);
  plan.totals.bytes -= std::min(plan.totals.bytes, record.bytes);
}

std::optional<DatabaseError> ArtifactTable::Apply(Database& database,
                                                  const WriteQueue::Batch& batch) {
  if (auto error = ApplySmallThings(database, batch)) return error;
  std::vector<Entry> entries;
  uint64_t incoming = 0;
  for (const auto& [key, artifact] : batch.artifacts) {
    Entry entry{key, EncodeEntry(key, *artifact), {}};
    entry.record = {entry.bytes.size() + kEntryOverhead, artifact->compile_time, CurrentSecond(),
                    0};
    if (entry.record.bytes > options_.limit_bytes) {
      statistics_.Add(Counter::kTooLarge);
      continue;
    }
    // The batch is written in portions of at most a sixteenth of the limit. At most this much is
    // evicted before entries replace it.
    if (incoming + entry.record.bytes > options_.limit_bytes / 16) {
      if (auto error = WriteEntries(database, std::exchange(entries, {}))) return error;
      incoming = 0;
    }
    incoming += entry.record.bytes;
    entries.push_back(std::move(entry));
  }
  return WriteEntries(database, std::move(entries));
}

std::optional<DatabaseError> ArtifactTable::ApplySmallThings(Database& database,
                                                             const WriteQueue::Batch& batch) {
  if (batch.dropped.empty() && batch.meta.empty()) return std::nullopt;
  Plan plan = NewPlan();
  for (const Digest& key : batch.dropped) {
    const Lookup lookup = FindUsage(database, key);
    if (lookup.error) return lookup.error;
    if (lookup.record) Remove(plan, key.View(), *lookup.record);
  }
  for (const auto& [name, value] : batch.meta) {
    plan.writes.push_back({Column::kMeta, std::string(kMetaPrefix) + name, value});
  }
  return Commit(database, std::move(plan));
}

std::optional<DatabaseError> ArtifactTable::WriteEntries(Database& database,
                                                         std::vector<Entry> entries) {
  if (entries.empty()) return std::nullopt;
  uint64_t incoming = 0;
  for (const Entry& entry : entries) incoming += entry.record.bytes;
  if (auto error = MakeRoom(database, incoming, options_.limit_bytes)) return error;
  Plan plan = NewPlan();
  for (Entry& entry : entries) {
    const Lookup lookup = FindUsage(database, entry.key);
    if (lookup.error) return lookup.error;
    if (lookup.record) Remove(plan, entry.key.View(), *lookup.record);
    const std::string key(entry.key.View());
    plan.writes.push_back({Column::kArtifacts, key, std::move(entry.bytes)});
    plan.writes.push_back({Column::kUsage, key, EncodeUsage(entry.record)});
    ++plan.totals.entries;
    plan.totals.bytes += entry.record.bytes;
  }
  return Commit(database, std::move(plan));
}

std::variant<std::vector<ArtifactTable::Listed>, DatabaseError> ArtifactTable::List(
    Database& database, std::string_view from, size_t most) {
  std::vector<Listed> listed;
  const auto add = [&](std::string_view row, std::string_view value) {
    const auto key = Digest::FromBytes(row);
    if (key) listed.push_back({*key, DecodeUsage(value).value_or(UsageRecord{})});
    return listed.size() < most;
  };
  if (auto error = database.Scan(Column::kUsage, from, add)) return *std::move(error);
  return listed;
}

bool ArtifactTable::Holds(Database& database, const Digest& key) {
  return database.Read(Column::kUsage, key.View(), [](std::string_view) {}) ==
         Database::Found::kYes;
}

std::optional<std::string> ArtifactTable::ReadMeta(Database& database, std::string_view name) {
  std::optional<std::string> value;
  database.Read(Column::kMeta, std::string(kMetaPrefix).append(name),
                [&](std::string_view found) { value = found; });
  return value;
}

std::optional<DatabaseError> ArtifactTable::RecordUses(Database& database,
                                                       const UsageLedger::Pending& uses) {
  std::vector<ColumnWrite> writes;
  for (const auto& [key, use] : uses) {
    Lookup lookup = FindUsage(database, key);
    if (lookup.error) return lookup.error;
    if (!lookup.record) continue;  // the entry was evicted meanwhile
    lookup.record->hits += use.hits;
    lookup.record->last_use = std::max(lookup.record->last_use, use.last);
    writes.push_back({Column::kUsage, std::string(key.View()), EncodeUsage(*lookup.record)});
  }
  return writes.empty() ? std::nullopt : database.Write(writes);
}

std::optional<DatabaseError> ArtifactTable::BoundFiles(Database& database) {
  const uint64_t limit = options_.limit_bytes;
  const uint64_t before = database.FileBytes(Column::kArtifacts);
  files_over_limit_ =
      limit >= kLeastBounded && before > limit - limit / kReserve && before > irreducible_;
  if (!files_over_limit_) return std::nullopt;
  if (auto error = MakeRoom(database, 0, limit / 3 * 2)) return error;
  if (auto error = database.CollectGarbage(Column::kArtifacts)) return error;
  const uint64_t after = database.FileBytes(Column::kArtifacts);
  if (after >= before) irreducible_ = after;
  return std::nullopt;
}

std::optional<DatabaseError> ArtifactTable::MakeRoom(Database& database, uint64_t incoming,
                                                     uint64_t limit) {
  for (int round = 0; round < kEvictionRounds && bytes_ + incoming > limit; ++round) {
    const uint64_t before = entries_;
    if (auto error = EvictSome(database, incoming, limit)) return error;
    // If nothing could be evicted, the totals are wrong: they count entries without usage records.
    if (entries_ == before) return Recount(database);
  }
  return std::nullopt;
}

std::optional<DatabaseError> ArtifactTable::EvictSome(Database& database, uint64_t incoming,
                                                      uint64_t limit) {
  std::vector<Candidate> candidates;
  if (auto error = NextCandidates(database, candidates)) return error;
  const auto now = CurrentSecond();
  std::sort(candidates.begin(), candidates.end(), [now](const Candidate& a, const Candidate& b) {
    return KeepValue(a.record, now) < KeepValue(b.record, now);
  });
  Plan plan = NewPlan();
  size_t evicted = 0;
  for (const Candidate& candidate : candidates) {
    if (evicted == kEvictedAtOnce) break;
    if (plan.totals.bytes + incoming <= limit) break;
    Remove(plan, candidate.key, candidate.record);
    ++evicted;
  }
  if (auto error = Commit(database, std::move(plan))) return error;
  statistics_.Add(Counter::kEvictions, evicted);
  candidates.resize(evicted);
  for (const Candidate& gone : candidates) {
    const auto key = Digest::FromBytes(gone.key);
    if (key && options_.on_evict) options_.on_evict(*key, EvictionCause::kEvicted);
  }
  return std::nullopt;
}

std::optional<DatabaseError> ArtifactTable::NextCandidates(Database& database,
                                                           std::vector<Candidate>& candidates) {
  const auto now = CurrentSecond();
  const auto collect = [&](std::string_view key, std::string_view value) {
    UsageRecord record = DecodeUsage(value).value_or(UsageRecord{});
    const auto digest = Digest::FromBytes(key);
    if (digest && options_.used_elsewhere && options_.used_elsewhere(*digest))
      record.last_use = now;
    candidates.push_back({std::string(key), record});
    return candidates.size() < kCandidates;
  };
  const std::string start = std::exchange(cursor_, "");
  if (auto error = database.Scan(Column::kUsage, start, collect)) return error;
  if (candidates.size() < kCandidates && !start.empty()) {
    // The scan has reached the last key. It goes on from the first key to its start.
    const auto until_start = [&](std::string_view key, std::string_view value) {
      return key < start && collect(key, value);
    };
    if (auto error = database.Scan(Column::kUsage, "", until_start)) return error;
  }
  if (!candidates.empty()) cursor_ = candidates.back().key + '\0';
  return std::nullopt;
}

}  // namespace cccl_cache::daemon
