// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "daemon/core/lease/deposit.h"
#include "daemon/core/model/statistics.h"
#include "daemon/store/database_slot.h"
#include "daemon/store/write_queue.h"

namespace cccl_cache::daemon {

/// The deposits on disk. Thread-safe. Nothing is written here: the store's writer does that behind,
/// and Get sees what waits. What does not verify is counted and, as with all that is not found, for
/// the caller to remove.
class RocksdbDeposits final : public DepositStore {
 public:
  /// All must outlive it.
  RocksdbDeposits(DatabaseSlot& slot, WriteQueue& queue, Statistics& statistics)
      : slot_(slot), queue_(queue), statistics_(statistics) {}

  DepositContents Get(const cccl_cache::Digest& key) override;
  DepositContents GetAtOnce(const cccl_cache::Digest& key) override;
  bool Put(const DepositRecord& record, DepositContents contents) override;
  void PutRecord(const DepositRecord& record) override;
  void Remove(const cccl_cache::Digest& key) override;
  std::vector<DepositRecord> Records() override;

 private:
  DatabaseSlot& slot_;
  WriteQueue& queue_;
  Statistics& statistics_;
};

}  // namespace cccl_cache::daemon
