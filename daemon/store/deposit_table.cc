// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/deposit_table.h"

#include <string_view>
#include <utility>

#include "daemon/core/lease/deposit.h"

namespace cccl_cache::daemon {
namespace {

// The first byte of a row's key. A scan of all records thus reads no contents.
constexpr char kContents = 'c';
constexpr char kRecord = 'r';

std::string Row(char kind, const Digest& key) {
  std::string row(1, kind);
  row.append(key.View());
  return row;
}

}  // namespace

std::optional<DatabaseError> WriteDeposits(Database& database,
                                           const WriteQueue::DepositChanges& changes) {
  for (const auto& [key, change] : changes) {
    std::vector<ColumnWrite> writes;
    const bool removed = change.record.empty();
    if (removed) {
      writes.push_back({Column::kDeposits, Row(kContents, key), std::nullopt});
    } else if (change.contents != nullptr) {
      writes.push_back(
          {Column::kDeposits, Row(kContents, key), EncodeDepositContents(key, *change.contents)});
    }
    writes.push_back({Column::kDeposits, Row(kRecord, key),
                      removed ? std::nullopt : std::optional(change.record)});
    if (auto error = database.Write(writes)) return error;
  }
  return std::nullopt;
}

Database::Found ReadDeposit(Database& database, const Digest& key, DepositContents& contents) {
  return database.Read(Column::kDeposits, Row(kContents, key), [&](std::string_view value) {
    contents = DecodeDepositContents(key, value);
  });
}

std::optional<DatabaseError> ReadDepositRecords(Database& database, StoredDeposits& stored) {
  return database.Scan(Column::kDeposits, std::string(1, kRecord),
                       [&](std::string_view row, std::string_view value) {
                         const auto key = Digest::FromBytes(row.substr(1));
                         if (row.front() != kRecord || !key) return false;
                         if (auto record = DecodeDepositRecord(*key, value)) {
                           stored.records.push_back(*std::move(record));
                         } else {
                           stored.broken.push_back(*key);
                         }
                         return true;
                       });
}

Result<DepositContents> RocksdbDeposits::Get(const Digest& key) {
  if (const auto queued = queue_.FindDeposit(key)) return *queued;
  const Error not_given{ErrorCode::kUnavailable, "the disk does not give the deposit"};
  const auto database = slot_.Get();
  if (!database) return not_given;
  DepositContents contents;
  switch (ReadDeposit(*database, key, contents)) {
    case Database::Found::kNo:
      break;
    case Database::Found::kFailed:
      statistics_.Add(Counter::kStoreErrors);
      return not_given;
    case Database::Found::kYes:
    case Database::Found::kDamaged:
      if (contents == nullptr) statistics_.Add(Counter::kCorruptEntries);
      break;
  }
  return contents;
}

DepositContents RocksdbDeposits::FindInMemory(const Digest& key) {
  return queue_.FindDeposit(key).value_or(nullptr);
}

bool RocksdbDeposits::Put(const DepositRecord& record, DepositContents contents) {
  if (queue_.PutDeposit(record.key, {EncodeDepositRecord(record), std::move(contents)}))
    return true;
  statistics_.Add(Counter::kStoreErrors);
  return false;
}

void RocksdbDeposits::PutRecord(const DepositRecord& record) {
  static_cast<void>(Put(record, nullptr));
}

void RocksdbDeposits::Remove(const Digest& key) { queue_.DropDeposit(key); }

std::vector<DepositRecord> RocksdbDeposits::Records() {
  StoredDeposits stored;
  const auto database = slot_.Get();
  if (database && ReadDepositRecords(*database, stored)) statistics_.Add(Counter::kStoreErrors);
  statistics_.Add(Counter::kCorruptEntries, stored.broken.size());
  for (const Digest& key : stored.broken) Remove(key);
  return std::move(stored.records);
}

}  // namespace cccl_cache::daemon
