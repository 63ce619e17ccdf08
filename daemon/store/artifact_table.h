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

/// Uses of entries that are not written to the database yet. Thread-safe. Bounded: a use that does
/// not fit is dropped, which makes its entry look older than it is.
class UsageLedger {
 public:
  struct Uses {
    uint64_t hits = 0;
    std::chrono::sys_seconds last{};
  };
  using Pending = std::unordered_map<Digest, Uses, DigestHash>;

  /// `hits`: 0 if another tier answered with the entry.
  void Used(const Digest& key, uint64_t hits = 1);
  /// Returns all uses since the last call.
  [[nodiscard]] Pending Take();

 private:
  Mutex mutex_;
  Pending pending_ GUARDED_BY(mutex_);
};

/// The artifacts on disk, their usage records and the totals of both, changed in one transaction
/// and kept within a limit. Any thread may call size() and the static functions; the other
/// functions are for the writer thread only.
class ArtifactTable {
 public:
  struct Options {
    uint64_t limit_bytes = 0;
    /// Returns whether a faster tier holds the entry. May be empty.
    std::function<bool(const Digest&)> used_elsewhere;
    OnEvict on_evict;  ///< called after an entry was evicted; may be empty
  };

  ArtifactTable(Options options, Statistics& statistics)
      : options_(std::move(options)), statistics_(statistics) {}
  ArtifactTable(const ArtifactTable&) = delete;
  ArtifactTable& operator=(const ArtifactTable&) = delete;

  /// Reads the totals from the database. Counts the usage records only if the totals are missing or
  /// `recount` is set.
  [[nodiscard]] std::optional<DatabaseError> Load(Database& database, bool recount);

  /// Evicts entries until the batch fits, and writes it. Skips an entry that is larger than the
  /// limit, and counts it.
  [[nodiscard]] std::optional<DatabaseError> Apply(Database& database,
                                                   const WriteQueue::Batch& batch);
  [[nodiscard]] std::optional<DatabaseError> RecordUses(Database& database,
                                                        const UsageLedger::Pending& uses);

  /// Runs one round of eviction if the table is over its limit, as after the limit was lowered.
  [[nodiscard]] std::optional<DatabaseError> Trim(Database& database) {
    return MakeRoom(database, 0, options_.limit_bytes);
  }
  /// Bounds the size of the files, which keep deleted values until they are rewritten. Near the
  /// limit it evicts entries and rewrites the oldest files. To be called after each batch.
  [[nodiscard]] std::optional<DatabaseError> BoundFiles(Database& database);
  /// Returns whether BoundFiles should be called again.
  [[nodiscard]] bool files_over_limit() const { return files_over_limit_; }
  [[nodiscard]] bool over_limit() const { return bytes_ > options_.limit_bytes; }

  struct Lookup {
    std::optional<UsageRecord> record;
    std::optional<DatabaseError> error;
  };
  [[nodiscard]] static Lookup FindUsage(Database& database, const Digest& key);
  /// A written entry.
  struct Listed {
    Digest key;
    UsageRecord usage;
  };
  /// Returns at most `most` entries in the order of their keys, from the first whose row key is not
  /// below `from`.
  [[nodiscard]] static std::variant<std::vector<Listed>, DatabaseError> List(Database& database,
                                                                             std::string_view from,
                                                                             size_t most);
  /// Returns whether the entry has a usage record. Thread-safe.
  [[nodiscard]] static bool Holds(Database& database, const Digest& key);
  /// Returns a value of Batch::meta. Thread-safe.
  [[nodiscard]] static std::optional<std::string> ReadMeta(Database& database,
                                                           std::string_view name);

  [[nodiscard]] TierSize size() const { return {entries_, bytes_}; }

 private:
  /// Changes to write in one transaction, and the totals after it.
  struct Plan {
    std::vector<ColumnWrite> writes;
    TierSize totals;
  };
  struct Entry {
    Digest key;
    std::string bytes;  ///< as encoded by EncodeEntry
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
  std::string cursor_;  ///< row key at which the next sample for eviction starts
  bool files_over_limit_ = false;
  uint64_t irreducible_ = 0;  ///< the size in bytes of the files when a rewrite freed nothing
  std::atomic<uint64_t> entries_{0};
  std::atomic<uint64_t> bytes_{0};
};

}  // namespace cccl_cache::daemon
