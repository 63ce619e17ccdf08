// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/rocksdb_deposits.h"

#include <utility>

#include "daemon/core/lease/deposit.h"
#include "daemon/store/deposit_rows.h"

namespace cccl_cache::daemon {

using cccl_cache::Digest;

DepositContents RocksdbDeposits::Get(const Digest& key) {
  if (const auto queued = queue_.FindDeposit(key)) return *queued;
  const auto database = slot_.Get();
  if (!database) return nullptr;
  DepositContents contents;
  switch (ReadDeposit(*database, key, contents)) {
    case Database::Found::kNo:
      break;
    case Database::Found::kFailed:
      statistics_.Add(Counter::kStoreErrors);
      break;
    case Database::Found::kYes:
    case Database::Found::kDamaged:
      if (contents == nullptr) statistics_.Add(Counter::kCorruptEntries);
      break;
  }
  return contents;
}

DepositContents RocksdbDeposits::GetAtOnce(const Digest& key) {
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
