// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/container_rows.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/codec.h"
#include "daemon/core/lease/deposit.h"
#include "daemon/core/model/account.h"
#include "daemon/store/deposit_table.h"
#include "daemon/store/rows.h"
#include "daemon/store/write_queue.h"

namespace cccl_cache::daemon {
namespace {

/// Maximum number of rows that one transaction drops.
constexpr size_t kMaxDroppedRows = 4096;

/// Adds the write that subtracts `count` from the total number of answered builds of all users.
void TakeOffAnswered(Database& database, uint64_t count, std::vector<ColumnWrite>& writes) {
  const std::string row = UserRowPrefix(kAll);
  uint64_t total = 0;
  database.Read(Column::kAnswered, row,
                [&](std::string_view value) { total = ByteReader(value).Take<uint64_t>(); });
  if (count == 0 || total == 0) return;
  const uint64_t rest = total - std::min(total, count);
  writes.push_back({Column::kAnswered, row, ByteWriter().Put(rest).Joined()});
}

/// Drops the rows of all users whose uid is `first` or greater.
std::optional<DatabaseError> DropFrom(Database& database, Column column, uid_t first) {
  while (true) {
    std::vector<ColumnWrite> writes;
    uint64_t answered = 0;
    const auto drop = [&](std::string_view row, std::string_view value) {
      const auto user = UserOfRow(row);
      if (!user || *user == kAll) return false;
      if (column == Column::kAnswered && !KeyOfRow(row)) {
        answered += ByteReader(value).Take<uint64_t>();
      }
      writes.push_back({column, std::string(row), std::nullopt});
      return writes.size() < kMaxDroppedRows;
    };
    if (auto error = database.Scan(column, UserRowPrefix(first), drop)) return error;
    if (writes.empty()) return std::nullopt;
    TakeOffAnswered(database, answered, writes);
    if (auto error = database.Write(writes)) return error;
  }
}

std::optional<DatabaseError> DropDeposits(Database& database) {
  StoredDeposits stored;
  if (auto error = ReadDepositRecords(database, stored)) return error;
  WriteQueue::DepositChanges removed;
  for (const DepositRecord& record : stored.records) {
    if (IsContainerUser(record.uid)) removed[record.key] = {};
  }
  return WriteDeposits(database, removed);
}

}  // namespace

std::optional<DatabaseError> RowsOfEarlierContainers::DropOnce(Database& database) {
  if (done_) return std::nullopt;
  for (const Column column : {Column::kAnswered, Column::kPrivate, Column::kPrivateUsage}) {
    if (auto error = DropFrom(database, column, kFirstContainerUser)) return error;
  }
  if (auto error = DropFrom(database, Column::kPrivateOrder, 0)) return error;
  if (auto error = DropDeposits(database)) return error;
  done_ = true;
  return std::nullopt;
}

}  // namespace cccl_cache::daemon
