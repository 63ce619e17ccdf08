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

/// Writes the changes of deposits. A deposit's contents and record are two rows, written in one
/// transaction.
[[nodiscard]] std::optional<DatabaseError> WriteDeposits(Database& database,
                                                         const WriteQueue::DepositChanges& changes);

/// Reads a deposit's contents. `contents` is null if their checksum is wrong.
[[nodiscard]] Database::Found ReadDeposit(Database& database, const Digest& key,
                                          DepositContents& contents);

/// All valid records, and the keys of the invalid ones.
struct StoredDeposits {
  std::vector<DepositRecord> records;
  std::vector<Digest> broken;
};
[[nodiscard]] std::optional<DatabaseError> ReadDepositRecords(Database& database,
                                                              StoredDeposits& stored);

/// The deposits on disk. Thread-safe. Writes go through the queue to the store's writer thread, and
/// Get also returns queued contents. Contents with a wrong checksum are counted; the caller removes
/// them, like deposits that are not found.
class RocksdbDeposits final : public DepositStore {
 public:
  /// The arguments must outlive the object.
  RocksdbDeposits(DatabaseSlot& slot, WriteQueue& queue, Statistics& statistics)
      : slot_(slot), queue_(queue), statistics_(statistics) {}

  Result<DepositContents> Get(const Digest& key) override;
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
