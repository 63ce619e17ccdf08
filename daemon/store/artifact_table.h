// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/mutex.h"
#include "daemon/core/lookup/eviction_log.h"
#include "daemon/core/model/statistics.h"
#include "daemon/core/model/tier.h"
#include "daemon/store/database.h"
#include "daemon/store/rows.h"
#include "daemon/store/write_queue.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Collects the uses of entries until the writer records them in the database. If there are too
/// many, uses of further entries are dropped. Those entries then seem to be unused for longer than
/// they are. Thread-safe.
class UsageLedger {
 public:
  struct Uses {
    uint64_t hits = 0;
    std::chrono::sys_seconds last{};
  };
  using Pending = std::unordered_map<Digest, Uses, DigestHash>;

  /// Adds a use of the entry at the present time. `hits` is 0 if another tier answered.
  void Used(const Digest& key, uint64_t hits = 1);
  /// Returns the uses since the last call of Take, and removes them.
  [[nodiscard]] Pending Take();

 private:
  Mutex mutex_;
  Pending pending_ GUARDED_BY(mutex_);
};

/// The artifacts on the disk, the usage record of each, and their total number and size. All are
/// changed together in one transaction. The total size is kept within a limit. Any thread may call
/// size() and the static functions. Only the writer thread may call the others.
class ArtifactTable {
 public:
  struct Options {
    uint64_t limit_bytes = 0;
    /// Returns whether a faster tier also has the entry. Such an entry counts as used now. May be
    /// empty.
    std::function<bool(const Digest&)> used_elsewhere;
    OnEvict on_evict;  ///< called after an entry was evicted; may be empty
  };

  ArtifactTable(Options options, Statistics& statistics)
      : options_(std::move(options)), statistics_(statistics) {}
  ArtifactTable(const ArtifactTable&) = delete;
  ArtifactTable& operator=(const ArtifactTable&) = delete;

  /// Reads the totals from the database. If they are missing, or if `recount` is true, computes
  /// them from the usage records.
  [[nodiscard]] std::optional<DatabaseError> Load(Database& database, bool recount);

  /// Writes the batch. Before that, evicts entries until the batch fits into the limit. An entry
  /// that is larger than the limit is skipped, and counted as Counter::kTooLarge.
  [[nodiscard]] std::optional<DatabaseError> Apply(Database& database,
                                                   const WriteQueue::Batch& batch);
  [[nodiscard]] std::optional<DatabaseError> RecordUses(Database& database,
                                                        const UsageLedger::Pending& uses);

  /// Evicts some entries if the table is over its limit, for example because the limit was lowered.
  /// over_limit() tells whether to call it again.
  [[nodiscard]] std::optional<DatabaseError> Trim(Database& database) {
    return MakeRoom(database, 0, options_.limit_bytes);
  }
  /// Keeps the size of the database's files within the limit. The files contain deleted values
  /// until they are rewritten. If the files are large, evicts entries and rewrites the oldest
  /// files. Must be called after each batch.
  [[nodiscard]] std::optional<DatabaseError> BoundFiles(Database& database);
  /// Returns whether the last BoundFiles found too large files, so that it should be called again.
  [[nodiscard]] bool files_over_limit() const { return files_over_limit_; }
  [[nodiscard]] bool over_limit() const { return bytes_ > options_.limit_bytes; }

  struct Lookup {
    std::optional<UsageRecord> record;
    std::optional<DatabaseError> error;
  };
  [[nodiscard]] static Lookup FindUsage(Database& database, const Digest& key);
  /// An entry in the database, and its usage record.
  struct Listed {
    Digest key;
    UsageRecord usage;
  };
  /// Returns at most `most` entries in ascending order of their keys, starting with the first key
  /// that is not less than `from`. Thread-safe.
  [[nodiscard]] static std::variant<std::vector<Listed>, DatabaseError> List(Database& database,
                                                                             std::string_view from,
                                                                             size_t most);
  /// Returns whether there is an entry with this key. Thread-safe.
  [[nodiscard]] static bool Holds(Database& database, const Digest& key);
  /// Returns the value with this name that Apply has written from Batch::meta, or none.
  /// Thread-safe.
  [[nodiscard]] static std::optional<std::string> ReadMeta(Database& database,
                                                           std::string_view name);

  [[nodiscard]] TierSize size() const { return {entries_, bytes_}; }

 private:
  /// The writes of one transaction, and the totals after it.
  struct Plan {
    std::vector<ColumnWrite> writes;
    TierSize totals;
  };
  struct Entry {
    Digest key;
    std::string bytes;  ///< the artifact as encoded by EncodeEntry
    UsageRecord record;
  };
  struct Candidate {
    std::string key;
    UsageRecord record;
  };
  [[nodiscard]] Plan NewPlan() const { return {{}, size()}; }
  [[nodiscard]] std::optional<DatabaseError> Commit(Database& database, Plan plan);
  static void Remove(Plan& plan, std::string_view key, const UsageRecord& record);
  [[nodiscard]] std::optional<DatabaseError> ApplySmallThings(Database& database,
                                                              const WriteQueue::Batch& batch);
  [[nodiscard]] std::optional<DatabaseError> WriteEntries(Database& database,
                                                          std::vector<Entry> entries);
  [[nodiscard]] std::optional<DatabaseError> Recount(Database& database);
  [[nodiscard]] std::optional<DatabaseError> MakeRoom(Database& database, uint64_t incoming,
                                                      uint64_t limit);
  [[nodiscard]] std::optional<DatabaseError> EvictSome(Database& database, uint64_t incoming,
                                                       uint64_t limit);
  [[nodiscard]] std::optional<DatabaseError> NextCandidates(Database& database,
                                                            std::vector<Candidate>& candidates);

  const Options options_;
  Statistics& statistics_;
  std::string cursor_;  ///< row key at which the next sample of entries to evict starts
  bool files_over_limit_ = false;
  uint64_t irreducible_ = 0;  ///< size of the files in bytes when a rewrite last freed nothing
  std::atomic<uint64_t> entries_{0};
  std::atomic<uint64_t> bytes_{0};
};

}  // namespace cccl_cache::daemon
