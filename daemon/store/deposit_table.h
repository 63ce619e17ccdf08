// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/core/lease/deposit.h"
#include "daemon/core/model/statistics.h"
#include "daemon/store/database.h"
#include "daemon/store/write_queue.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Contents and record of each deposit are rows of their own, changed together.
[[nodiscard]] std::optional<DatabaseError> WriteDeposits(Database& database,
                                                         const WriteQueue::DepositChanges& changes);

/// What is found of a deposit's contents: null if they do not verify.
[[nodiscard]] Database::Found ReadDeposit(Database& database, const Digest& key,
                                          DepositContents& contents);

/// All records that verify, and the keys of those that don't.
struct StoredDeposits {
  std::vector<DepositRecord> records;
  std::vector<Digest> broken;
};
[[nodiscard]] std::optional<DatabaseError> ReadDepositRecords(Database& database,
                                                              StoredDeposits& stored);

/// The deposits on disk. Thread-safe. Nothing is written here: the store's writer does that behind,
/// and Get sees what waits. What does not verify is counted and, as with all that is not found, for
/// the caller to remove.
class RocksdbDeposits final : public DepositStore {
 public:
  /// All must outlive it.
  RocksdbDeposits(DatabaseSlot& slot, WriteQueue& queue, Statistics& statistics)
      : slot_(slot), queue_(queue), statistics_(statistics) {}

  DepositContents Get(const Digest& key) override;
  DepositContents FindInMemory(const Digest& key) override;
  bool Put(const DepositRecord& record, DepositContents contents) override;
  void PutRecord(const DepositRecord& record) override;
  void Remove(const Digest& key) override;
  std::vector<DepositRecord> Records() override;

 private:
  DatabaseSlot& slot_;
  WriteQueue& queue_;
  Statistics& statistics_;
};

}  // namespace cccl_cache::daemon
