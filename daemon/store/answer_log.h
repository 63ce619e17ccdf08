// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/tier.h"
#include "daemon/store/database.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// The builds that each user got answers for, as rows of the database. Write and Reopened are for
/// the writer thread only; the other functions are thread-safe.
class AnsweredTable {
 public:
  using Limits = AccountUsage::Limits;
  static constexpr Limits kLimits{.per_account = 65'536, .in_all = 524'288};
  using Rows = std::map<std::pair<uid_t, Digest>, AnsweredBuild>;

  /// `find_account` is passed on to AccountUsage.
  explicit AnsweredTable(const Limits& limits, FindAccount find_account = {})
      : limits_(limits), usage_(limits, std::move(find_account)) {}

  /// Writes the rows. Above the limit, the oldest rows of a sample are dropped, of the uids that
  /// AccountUsage::MustGiveWay returns.
  [[nodiscard]] std::optional<DatabaseError> Write(Database& database, const Rows& rows);
  /// Tells that the database was closed and opened since the last Write, so the counts are read
  /// again.
  void Reopened() { counted_ = false; }

  /// Adds the user's rows to `rows`.
  static void Read(Database& database, uid_t uid, Rows* rows);
  [[nodiscard]] static bool Has(Database& database, uid_t uid, const Digest& key);
  /// Adds the user's keys with this prefix to `keys`, in ascending order, at most `most`.
  static void ReadKeys(Database& database, uid_t uid, const DigestPrefix& prefix, size_t most,
                       std::set<Digest>* keys);
  static void ReadUsers(Database& database, std::vector<uid_t>* users);

 private:
  /// The writes of one batch, and the counts that hold after it.
  struct Plan {
    std::vector<ColumnWrite> writes;
    std::map<uid_t, uint64_t> counts;
  };
  [[nodiscard]] static uint64_t CountOf(Database& database, uid_t uid, Plan& plan);
  [[nodiscard]] std::optional<DatabaseError> Commit(Database& database, Plan plan);
  /// Drops the uid's oldest rows in a sample that begins near `start`: at least one row, and no
  /// more than exceed the limit.
  [[nodiscard]] std::optional<DatabaseError> DropOldest(Database& database, uid_t uid,
                                                        const Digest& start);
  /// Reads the number of rows of each uid.
  void CountAll(Database& database);

  const Limits limits_;
  AccountUsage usage_;  // equals the counts in the database once counted_ is set
  bool counted_ = false;
};

/// Answered builds in the database, and those that wait to be written there. Bounded: if the queue
/// is full, the build is not recorded until its next answer. Thread-safe.
class AnsweredLedger final : public AnsweredBuilds {
 public:
  explicit AnsweredLedger(DatabaseSlot& slot) : slot_(slot) {}

  void Note(uid_t uid, AnsweredBuild build) override;
  bool Has(uid_t uid, const Digest& key) override;
  std::vector<AnsweredBuild> Of(uid_t uid) override;
  std::vector<Digest> KeysWith(uid_t uid, const DigestPrefix& prefix, size_t most) override;
  std::vector<uid_t> Users() override;

  /// For the writer: returns the rows to write. Until Written() is called, each call returns the
  /// same rows and those added meanwhile. Valid until the next call.
  [[nodiscard]] const AnsweredTable::Rows& Next();
  void Written();

 private:
  DatabaseSlot& slot_;
  Mutex mutex_;
  AnsweredTable::Rows waiting_ GUARDED_BY(mutex_);
  /// Changed only by the writer, so the writer may read it without the lock.
  AnsweredTable::Rows writing_ GUARDED_BY(mutex_);
};

}  // namespace cccl_cache::daemon
