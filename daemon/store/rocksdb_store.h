// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/core/lookup/eviction_log.h"
#include "daemon/core/model/artifact.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/statistics.h"
#include "daemon/core/model/tier.h"
#include "daemon/store/answered_ledger.h"
#include "daemon/store/answered_table.h"
#include "daemon/store/artifact_table.h"
#include "daemon/store/database_opening.h"
#include "daemon/store/database_slot.h"
#include "daemon/store/private_store.h"
#include "daemon/store/rocksdb_deposits.h"
#include "daemon/store/state_directory.h"
#include "daemon/store/store_writer.h"
#include "daemon/store/usage_ledger.h"
#include "daemon/store/write_queue.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

struct RocksdbStoreOptions {
  std::string directory;                ///< made if it is not there, then private to this uid
  uint64_t limit_bytes = 10ull << 30;   ///< of the artifacts on disk
  uint64_t cache_bytes = 32ull << 20;   ///< RocksDB's own cache of blocks and blobs
  uint64_t queue_bytes = 256ull << 20;  ///< artifacts that wait to be written
  PrivateStore::Limits private_limits;
  Tier* memory = nullptr;  ///< keeps private entries that are in use too; must outlive the store
  /// Events for the log, one sentence each. Called on any thread. May be empty.
  Report report;
  /// Whether a faster tier holds the key: what is answered there is never asked for here, and must
  /// not look unused for that. Called on the writer's thread. May be empty.
  std::function<bool(const cccl_cache::Digest&)> used_elsewhere;
  /// What was evicted or found corrupt. Called on any thread. May be empty.
  Departed departed;
};

/// The disk tier, and what else survives a restart. Thread-safe. Put never waits for the disk: a
/// thread of the store's own writes behind, and Get sees what waits. The destructor writes what
/// waits and closes.
class RocksdbStore final : public Tier, public MetaStore {
 public:
  /// Locks the directory. A database that can't be used is replaced by an empty one and reported.
  /// On a full disk, which is reported too, there is none until the disk has space. An error means
  /// that there can be none: locked by another daemon, no permission.
  static Result<std::unique_ptr<RocksdbStore>> Open(RocksdbStoreOptions options,
                                                    Statistics& statistics);
  ~RocksdbStore() override;

  TierName name() const override { return TierName::kDisk; }
  ArtifactPtr Get(const cccl_cache::Digest& key) override;
  bool Holds(const cccl_cache::Digest& key) override;
  void Put(const cccl_cache::Digest& key, ArtifactPtr artifact) override;
  void Remove(const cccl_cache::Digest& key) override;

  std::optional<std::string> GetMeta(std::string_view name) override;
  void PutMeta(std::string_view name, std::string_view value) override;

  /// What clients deposited, in the same database. Lives as long as the store.
  [[nodiscard]] DepositStore& deposits() { return deposits_; }
  /// What users were answered with, in the same database. Lives as long as the store.
  [[nodiscard]] AnsweredBuilds& answered() { return answered_; }

  /// What users inserted for themselves, in the same database. Lives as long as the store.
  [[nodiscard]] PrivateEntries& own() { return own_; }
  /// Which run of a daemon over the directory this is: see StateDirectory::CountRun. An error where
  /// it could not be counted.
  [[nodiscard]] const Result<uint64_t>& run() const { return run_; }
  /// Returns when there is room to Put much, or after a while.
  void AwaitRoom();

  /// Why nothing can be written just now; empty: the last write succeeded.
  [[nodiscard]] std::string problem() const { return writer_->problem(); }

  /// What is written; what waits is not in it.
  [[nodiscard]] TierSize size() const { return table_.size(); }

 private:
  RocksdbStore(RocksdbStoreOptions options, std::unique_ptr<StateDirectory> directory,
               Result<uint64_t> run, Statistics& statistics);

  Statistics& statistics_;
  const Departed departed_;
  const std::unique_ptr<StateDirectory> directory_;
  const Result<uint64_t> run_;
  DatabaseSlot slot_;
  ArtifactTable table_;
  WriteQueue queue_;
  RocksdbDeposits deposits_;
  UsageLedger ledger_;
  AnsweredLedger answered_;
  AnsweredTable answered_table_;
  PrivateStore own_;
  std::unique_ptr<StoreWriter> writer_;  ///< last: its thread uses all the others
};

}  // namespace cccl_cache::daemon
