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

/// Writes the changes, each deposit in a transaction of its own. The contents and the record of a
/// deposit are two rows.
[[nodiscard]] std::optional<DatabaseError> WriteDeposits(Database& database,
                                                         const WriteQueue::DepositChanges& changes);

/// Reads the contents of a deposit into `contents`. Sets `contents` to null if the checksum is
/// wrong.
[[nodiscard]] Database::Found ReadDeposit(Database& database, const Digest& key,
                                          DepositContents& contents);

/// The records of all stored deposits, and the keys of the deposits whose record is malformed.
struct StoredDeposits {
  std::vector<DepositRecord> records;
  std::vector<Digest> broken;
};
[[nodiscard]] std::optional<DatabaseError> ReadDepositRecords(Database& database,
                                                              StoredDeposits& stored);

/// The deposits in the database. Changes go through the queue to the store's writer thread, and Get
/// also finds queued contents. Get returns null for an unknown deposit and for contents with a
/// wrong checksum, which it also counts. In both cases the caller must remove the deposit.
/// Thread-safe.
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
