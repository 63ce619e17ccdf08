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

/// Limit of the rows that one write drops.
constexpr size_t kMaxDroppedRows = 4096;

/// Returns the number that one user's row adds to the total: of answered builds, or of bytes.
uint64_t AmountOf(Column column, std::string_view value) {
  if (column == Column::kAnswered) return ByteReader(value).Take<uint64_t>();
  return DecodePrivateUsage(value).value_or(PrivateUsage{}).bytes;
}

/// Adds the write that subtracts the amount from the row with the total of all users.
void TakeOffTotal(Database& database, Column column, uint64_t amount,
                  std::vector<ColumnWrite>& writes) {
  std::string row = UserRowPrefix(kAll);
  std::string value;
  database.Read(column, row, [&](std::string_view read) { value = read; });
  if (amount == 0 || value.empty()) return;
  const uint64_t total = AmountOf(column, value);
  const uint64_t rest = total - std::min(total, amount);
  if (column == Column::kAnswered) {
    value = ByteWriter().Put(rest).Joined();
  } else {
    PrivateUsage usage = DecodePrivateUsage(value).value_or(PrivateUsage{});
    usage.bytes = rest;
    value = EncodePrivateUsage(usage);
  }
  writes.push_back({column, std::move(row), std::move(value)});
}

std::optional<DatabaseError> DropOf(Database& database, Column column) {
  const bool has_total = column == Column::kAnswered || column == Column::kPrivateUsage;
  while (true) {
    std::vector<ColumnWrite> writes;
    uint64_t amount = 0;
    const auto drop = [&](std::string_view row, std::string_view value) {
      const auto user = UserOfRow(row);
      if (!user || !IsContainerUser(*user)) return false;
      if (has_total && !KeyOfRow(row)) amount += AmountOf(column, value);
      writes.push_back({column, std::string(row), std::nullopt});
      return writes.size() < kMaxDroppedRows;
    };
    if (auto error = database.Scan(column, UserRowPrefix(kFirstContainerUser), drop)) return error;
    if (writes.empty()) return std::nullopt;
    TakeOffTotal(database, column, amount, writes);
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
  for (const Column column :
       {Column::kAnswered, Column::kPrivate, Column::kPrivateOrder, Column::kPrivateUsage}) {
    if (auto error = DropOf(database, column)) return error;
  }
  if (auto error = DropDeposits(database)) return error;
  done_ = true;
  return std::nullopt;
}

}  // namespace cccl_cache::daemon
