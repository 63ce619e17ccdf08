// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/deposit_rows.h"

#include <string_view>

#include "daemon/core/lease/deposit.h"

namespace cccl_cache::daemon {
namespace {

using cccl_cache::Digest;

// Records lie side by side, so that all of them are read without the contents.
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

}  // namespace cccl_cache::daemon
