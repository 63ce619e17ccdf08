// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "daemon/core/lookup/eviction_log.h"
#include "daemon/core/model/artifact.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/statistics.h"
#include "daemon/core/model/tier.h"
#include "daemon/store/answer_log.h"
#include "daemon/store/artifact_table.h"
#include "daemon/store/container_rows.h"
#include "daemon/store/database.h"
#include "daemon/store/deposit_table.h"
#include "daemon/store/private_store.h"
#include "daemon/store/state_directory.h"
#include "daemon/store/write_queue.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// The number of this daemon's run on its directory (StateDirectory::CountRun), or the error that
/// kept it from being counted. Thread-safe.
class RunNumber {
 public:
  /// Counts the run unless it was counted before. Waits for the disk.
  void Count(const StateDirectory& directory);
  [[nodiscard]] Result<uint64_t> Get() const;

 private:
  mutable Mutex mutex_;
  Result<uint64_t> number_ GUARDED_BY(mutex_) = Error{ErrorCode::kUnavailable, "not counted yet"};
};

/// The only thread that changes the database. It writes the queue, keeps the limit, and recovers
/// from disk failures. While writes fail, changes stay in the queue as far as they fit. A damaged
/// database is replaced by a new one.
class StoreWriter {
 public:
  /// The objects that the writer uses; all must outlive it.
  struct Parts {
    const StateDirectory& directory;
    RunNumber& run;
    DatabaseSlot& slot;
    ArtifactTable& table;
    WriteQueue& queue;
    UsageLedger& ledger;
    AnsweredLedger& answered;
    AnsweredTable& answered_table;
    PrivateStore& own;
    RowsOfEarlierContainers& earlier;
    Statistics& statistics;
  };

  /// Starts the thread. Without `failure`, `parts.slot` holds an open database, and `parts.table`
  /// and `parts.own` are loaded from it. With `failure`, there is no database, and the thread
  /// retries to open it.
  StoreWriter(Parts parts, DatabaseOptions options, Report report,
              std::optional<DatabaseError> failure);
  /// Writes the queue, unless the disk fails, and ends the thread. The queue must be closed
  /// already.
  ~StoreWriter();
  StoreWriter(const StoreWriter&) = delete;
  StoreWriter& operator=(const StoreWriter&) = delete;

 private:
  void Run();
  /// Writes one batch, runs a round of eviction, and records uses if they are due. Changes whose
  /// write failed stay queued.
  [[nodiscard]] std::optional<DatabaseError> Turn(Database& database);
  [[nodiscard]] std::optional<DatabaseError> RecordUses(Database& database);
  void Finish();

  void Failed(DatabaseError error);
  void Succeeded();
  void Recover();
  /// Returns whether the open database should be used again after a failure.
  [[nodiscard]] bool Resumed();
  void Reopen();

  const Parts parts_;
  const DatabaseOptions options_;
  const Report report_;

  // Used by the writer thread only.
  std::optional<DatabaseError> failure_;  ///< why writes fail at present
  std::chrono::milliseconds retry_delay_{0};
  int failed_resumes_ = 0;
  std::chrono::steady_clock::time_point uses_recorded_;

  std::thread thread_;
};

struct RocksdbStoreOptions {
  std::string directory;                ///< created if missing, then private to this uid
  uint64_t limit_bytes = 10ull << 30;   ///< limit of the artifacts on disk
  uint64_t cache_bytes = 32ull << 20;   ///< RocksDB's own cache of blocks and blobs
  uint64_t queue_bytes = 256ull << 20;  ///< limit of the artifacts that wait to be written
  PrivateStore::Limits private_limits;
  Tier* memory = nullptr;  ///< also keeps private entries in use; must outlive the store
  /// Events for the log, one sentence each. Called on any thread. May be empty.
  Report report;
  /// Returns whether a faster tier holds the key. That tier answers the entry's hits, so its uses
  /// are not seen here. Called on the writer's thread. May be empty.
  std::function<bool(const Digest&)> used_elsewhere;
  /// Called with each entry that was evicted or found corrupt. Called on any thread. May be empty.
  OnEvict on_evict;
};

/// The disk tier, and everything else that survives a restart. Thread-safe. Put never waits for the
/// disk: it queues for the writer thread, and Get also returns queued entries. The destructor
/// writes the queue and closes the database.
class RocksdbStore final : public Tier, public MetaStore {
 public:
  /// Locks the directory. An unusable database is replaced by an empty one and reported. A full
  /// disk is reported too, and there is no database until it has space. Errors: the directory is
  /// locked by another daemon, or there is no permission.
  static Result<std::unique_ptr<RocksdbStore>> Open(RocksdbStoreOptions options,
                                                    Statistics& statistics);
  ~RocksdbStore() override;

  TierName name() const override { return TierName::kDisk; }
  ArtifactPtr Get(const Digest& key) override;
  bool Holds(const Digest& key) override;
  void Put(const Digest& key, ArtifactPtr artifact) override;
  void Remove(const Digest& key) override;

  /// Records a use of an entry that another tier answered with.
  void NoteUse(const Digest& key) { ledger_.Used(key, 0); }

  std::optional<std::string> GetMeta(std::string_view name) override;
  void PutMeta(std::string_view name, std::string_view value) override;

  /// Returns the deposits of clients, in the same database. Valid as long as the store.
  [[nodiscard]] DepositStore& deposits() { return deposits_; }
  /// Returns the builds that users got answers for, in the same database. Valid as long as the
  /// store.
  [[nodiscard]] AnsweredBuilds& answered() { return answered_; }

  /// Returns the entries that users inserted for themselves, in the same database. Valid as long as
  /// the store.
  [[nodiscard]] PrivateStore& own() { return own_; }
  /// Returns the number of this daemon's run on the directory: see StateDirectory::CountRun. An
  /// error until it could be counted; the writer tries again when the disk can be written.
  [[nodiscard]] Result<uint64_t> run() const { return run_.Get(); }
  /// Returns once half of the queue is free, or after a time limit.
  void AwaitRoom();

  /// Returns why writes fail at present; empty if the last write succeeded.
  [[nodiscard]] std::string problem() const { return slot_.failure(); }

  // For upkeep: these functions wait for the disk.

  /// Returns written entries: see ArtifactTable::List.
  [[nodiscard]] Result<std::vector<ArtifactTable::Listed>> List(std::string_view from, size_t most);
  /// Returns the keys of entries that wait to be written.
  [[nodiscard]] std::vector<Digest> Queued() const { return queue_.ArtifactKeys(); }
  /// Evicts these entries, and returns their size once they are off the disk. At most kMaxEvicted
  /// distinct keys.
  static constexpr size_t kMaxEvicted = 1024;
  [[nodiscard]] Result<TierSize> Evict(std::span<const Digest> keys);
  /// Reads an entry from the disk, and drops it if its checksum is wrong.
  [[nodiscard]] Soundness Verify(const Digest& key);
  /// Drops RocksDB's cache: see Database::DropCache.
  void DropCache();
  /// Frees the disk space of deleted entries and deposits: see Database::Compact.
  [[nodiscard]] Status FreeSpace(const std::stop_token& stop);

  /// Returns the size of the written entries, without the queued ones.
  [[nodiscard]] TierSize size() const { return table_.size(); }

 private:
  RocksdbStore(RocksdbStoreOptions options, std::unique_ptr<StateDirectory> directory,
               Statistics& statistics);
  void DropBroken(const Digest& key);

  Statistics& statistics_;
  const OnEvict on_evict_;
  const std::unique_ptr<StateDirectory> directory_;
  RunNumber run_;
  DatabaseSlot slot_;
  ArtifactTable table_;
  WriteQueue queue_;
  RocksdbDeposits deposits_;
  UsageLedger ledger_;
  AnsweredLedger answered_;
  AnsweredTable answered_table_;
  PrivateStore own_;
  RowsOfEarlierContainers earlier_;
  std::unique_ptr<StoreWriter> writer_;  ///< last member: its thread uses the others
};

}  // namespace cccl_cache::daemon
