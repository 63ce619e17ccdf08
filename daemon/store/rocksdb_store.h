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

/// The number of this run of the daemon on its state directory (StateDirectory::CountRun). As long
/// as the run could not be counted, the error that prevented it. Thread-safe.
class RunNumber {
 public:
  /// Counts this run, unless it was counted already. Waits for the disk.
  void Count(const StateDirectory& directory);
  [[nodiscard]] Result<uint64_t> Get() const;

 private:
  mutable Mutex mutex_;
  Result<uint64_t> number_ GUARDED_BY(mutex_) = Error{ErrorCode::kUnavailable, "not counted yet"};
};

/// The thread that writes the queue to the database, keeps the artifacts within their limit, and
/// recovers from failures of the disk. While writes fail, changes stay in the queue, and those that
/// do not fit into it are dropped. A damaged database is replaced by a new one.
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

  /// Starts the thread. If `failure` is none, `parts.slot` must hold an open database, and
  /// `parts.table` and `parts.own` must be loaded from it. Otherwise there is no database, and the
  /// thread tries to open it until it succeeds.
  StoreWriter(Parts parts, DatabaseOptions options, Report report,
              std::optional<DatabaseError> failure);
  /// Waits until the thread has written the queue, or until a write fails, and ends the thread. The
  /// queue must be closed already.
  ~StoreWriter();
  StoreWriter(const StoreWriter&) = delete;
  StoreWriter& operator=(const StoreWriter&) = delete;

 private:
  void Run();
  /// Writes one batch of the queue, evicts entries if there are too many, and records uses if they
  /// are due. If a write fails, its changes stay in the queue.
  [[nodiscard]] std::optional<DatabaseError> Turn(Database& database);
  [[nodiscard]] std::optional<DatabaseError> RecordUses(Database& database);
  void Finish();

  void Failed(DatabaseError error);
  void Succeeded();
  void Recover();
  /// Returns whether the open database may be used again after a failure. If not, it must be
  /// reopened.
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
  std::string directory;                ///< made if it is missing; only this uid can use it
  uint64_t limit_bytes = 10ull << 30;   ///< limit of the artifacts on disk
  uint64_t cache_bytes = 32ull << 20;   ///< RocksDB's own cache of blocks and blobs
  uint64_t queue_bytes = 256ull << 20;  ///< limit of the artifacts that wait to be written
  PrivateStore::Limits private_limits;
  Tier* memory = nullptr;  ///< memory tier, also for private entries; must outlive the store
  /// Called with each event for the log, as one sentence. Called on any thread. May be empty.
  Report report;
  /// Returns whether a faster tier has the entry. Hits on it are then answered there and not seen
  /// by this store, so the entry counts as in use. Called on the writer's thread. May be empty.
  std::function<bool(const Digest&)> used_elsewhere;
  /// Called with each entry that was evicted or found corrupt. Called on any thread. May be empty.
  OnEvict on_evict;
};

/// The disk tier, and all other data that outlive the daemon. Put does not wait for the disk: it
/// queues the artifact for the writer thread, and Get also finds queued artifacts. The destructor
/// writes the queue and closes the database. Thread-safe.
class RocksdbStore final : public Tier, public MetaStore {
 public:
  /// Locks the directory and opens the database in it. An unusable database is replaced by an empty
  /// one, which is reported. A full disk is reported too, and the store has no database until there
  /// is space. Errors: another daemon has locked the directory, or a permission is missing.
  static Result<std::unique_ptr<RocksdbStore>> Open(RocksdbStoreOptions options,
                                                    Statistics& statistics);
  ~RocksdbStore() override;

  TierName name() const override { return TierName::kDisk; }
  ArtifactPtr Get(const Digest& key) override;
  bool Holds(const Digest& key) override;
  void Put(const Digest& key, ArtifactPtr artifact) override;
  void Remove(const Digest& key) override;

  /// Records that another tier has answered a request with this entry.
  void NoteUse(const Digest& key) { ledger_.Used(key, 0); }

  std::optional<std::string> GetMeta(std::string_view name) override;
  void PutMeta(std::string_view name, std::string_view value) override;

  /// Returns the deposits of clients, which are in the same database. Valid as long as the store.
  [[nodiscard]] DepositStore& deposits() { return deposits_; }
  /// Returns the records for which builds users got answers. They are in the same database. Valid
  /// as long as the store.
  [[nodiscard]] AnsweredBuilds& answered() { return answered_; }

  /// Returns the entries that users inserted for themselves. They are in the same database. Valid
  /// as long as the store.
  [[nodiscard]] PrivateStore& own() { return own_; }
  /// Returns the number of this run (StateDirectory::CountRun). Returns an error until the run
  /// could be counted. The writer thread tries that again after each successful write.
  [[nodiscard]] Result<uint64_t> run() const { return run_.Get(); }
  /// Waits until half of the queue is free, but at most 10 s.
  void AwaitRoom();

  /// Returns why writes fail at present; empty if the last write succeeded.
  [[nodiscard]] std::string problem() const { return slot_.failure(); }

  // These functions are for StoreUpkeep. They may wait for the disk.

  /// Returns entries in the database (ArtifactTable::List), without those in the queue.
  [[nodiscard]] Result<std::vector<ArtifactTable::Listed>> List(std::string_view from, size_t most);
  /// Returns the keys of entries that wait to be written.
  [[nodiscard]] std::vector<Digest> Queued() const { return queue_.ArtifactKeys(); }
  /// Evicts the entries with these keys, and waits until they are deleted from the database.
  /// Returns the number and size of the evicted entries. Takes at most kMaxEvicted different keys.
  static constexpr size_t kMaxEvicted = 1024;
  [[nodiscard]] Result<TierSize> Evict(std::span<const Digest> keys);
  /// Reads an entry from the disk and checks it. Deletes the entry if its checksum is wrong.
  [[nodiscard]] Soundness Verify(const Digest& key);
  /// Empties RocksDB's cache: see Database::DropCache.
  void DropCache();
  /// Frees the disk space of deleted artifacts, private entries and deposits (Database::Compact).
  [[nodiscard]] Status FreeSpace(const std::stop_token& stop);

  /// Returns the number and size of the artifacts in the database, without those in the queue.
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
  std::unique_ptr<StoreWriter> writer_;  ///< last member, because its thread uses the others
};

}  // namespace cccl_cache::daemon
