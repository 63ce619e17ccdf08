// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "daemon/core/lookup/eviction_log.h"
#include "daemon/core/model/artifact.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/statistics.h"
#include "daemon/core/model/tier.h"
#include "daemon/store/answer_log.h"
#include "daemon/store/artifact_table.h"
#include "daemon/store/database.h"
#include "daemon/store/deposit_table.h"
#include "daemon/store/private_store.h"
#include "daemon/store/state_directory.h"
#include "daemon/store/write_queue.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// The thread that alone changes the database: writes what is queued, keeps the limit, and gets
/// over a disk that fails. While writing fails the queue holds what fits; a damaged database is
/// replaced by a new one.
class StoreWriter {
 public:
  /// What the writer works on; all must outlive it.
  struct Parts {
    const StateDirectory& directory;
    DatabaseSlot& slot;
    ArtifactTable& table;
    WriteQueue& queue;
    UsageLedger& ledger;
    AnsweredLedger& answered;
    AnsweredTable& answered_table;
    PrivateStore& own;
    Statistics& statistics;
  };

  /// `parts.slot` holds an open database, `parts.table` and `parts.own` were loaded from it.
  /// Otherwise `failure` says why there is none, and it is opened when it can be. Starts the
  /// thread.
  StoreWriter(Parts parts, DatabaseOptions options, Report report,
              std::optional<DatabaseError> failure);
  /// Writes what is queued, if the disk lets it, and ends the thread. The queue must be closed
  /// already.
  ~StoreWriter();
  StoreWriter(const StoreWriter&) = delete;
  StoreWriter& operator=(const StoreWriter&) = delete;

  /// Why nothing can be written just now; empty: the last write succeeded. Thread-safe.
  [[nodiscard]] std::string problem() const;

 private:
  void Run();
  /// One batch, a round of eviction, the uses if it is time. What could not be written stays
  /// queued.
  [[nodiscard]] std::optional<DatabaseError> Turn(Database& database);
  [[nodiscard]] std::optional<DatabaseError> RecordUses(Database& database);
  void Finish();

  void Failed(DatabaseError error);
  void Succeeded();
  void Recover();
  /// Whether the open database is to be tried again.
  [[nodiscard]] bool Resumed();
  void Reopen();

  const Parts parts_;
  const DatabaseOptions options_;
  const Report report_;

  // The thread's own.
  std::optional<DatabaseError> failure_;  ///< why nothing can be written just now
  std::chrono::milliseconds retry_delay_{0};
  int failed_resumes_ = 0;
  std::chrono::steady_clock::time_point uses_recorded_;

  mutable std::mutex mutex_;
  std::string problem_;  ///< of failure_, for others; guarded by mutex_

  std::thread thread_;
};

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
  std::function<bool(const Digest&)> used_elsewhere;
  /// What was evicted or found corrupt. Called on any thread. May be empty.
  OnEvict on_evict;
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
  ArtifactPtr Get(const Digest& key) override;
  bool Holds(const Digest& key) override;
  void Put(const Digest& key, ArtifactPtr artifact) override;
  void Remove(const Digest& key) override;

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
  const OnEvict on_evict_;
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
