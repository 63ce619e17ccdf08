// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "daemon/core/model/statistics.h"
#include "daemon/store/answered_ledger.h"
#include "daemon/store/answered_table.h"
#include "daemon/store/artifact_table.h"
#include "daemon/store/database_opening.h"
#include "daemon/store/database_slot.h"
#include "daemon/store/private_store.h"
#include "daemon/store/state_directory.h"
#include "daemon/store/usage_ledger.h"
#include "daemon/store/write_queue.h"

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

}  // namespace cccl_cache::daemon
