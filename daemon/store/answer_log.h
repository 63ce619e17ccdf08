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

/// The builds that each user was answered with, as rows of the database. Write and Reopened are for
/// the writer thread only; the other functions are thread-safe.
class AnsweredTable {
 public:
  using Limits = AccountUsage::Limits;
  static constexpr Limits kLimits{.per_account = 65'536, .in_all = 524'288};
  using Rows = std::map<std::pair<uid_t, Digest>, AnsweredBuild>;

  /// `find_account`: as AccountUsage has it.
  explicit AnsweredTable(const Limits& limits, FindAccount find_account = {})
      : limits_(limits), usage_(limits, std::move(find_account)) {}

  /// Writes the rows. Above the limit, the uids that AccountUsage::MustGiveWay names lose the
  /// oldest rows of a sample.
  [[nodiscard]] std::optional<DatabaseError> Write(Database& database, const Rows& rows);
  /// The next Write is to a database that was opened since the last one.
  void Reopened() { counted_ = false; }

  /// Adds the user's rows to `rows`.
  static void Read(Database& database, uid_t uid, Rows* rows);
  [[nodiscard]] static bool Has(Database& database, uid_t uid, const Digest& key);
  /// Adds the lowest of the user's keys that begin so to `keys`, at most `most`.
  static void ReadKeys(Database& database, uid_t uid, const DigestPrefix& prefix, size_t most,
                       std::set<Digest>* keys);
  static void ReadUsers(Database& database, std::vector<uid_t>* users);

 private:
  /// The counts hold once `writes` are written.
  struct Plan {
    std::vector<ColumnWrite> writes;
    std::map<uid_t, uint64_t> counts;
  };
  [[nodiscard]] static uint64_t CountOf(Database& database, uid_t uid, Plan& plan);
  [[nodiscard]] std::optional<DatabaseError> Commit(Database& database, Plan plan);
  /// Drops some of the uid's oldest rows, from a sample that begins near `start`: at least one, at
  /// most as many as are too many.
  [[nodiscard]] std::optional<DatabaseError> DropOldest(Database& database, uid_t uid,
                                                        const Digest& start);
  /// Reads how many rows each uid has.
  void CountAll(Database& database);

  const Limits limits_;
  AccountUsage usage_;  // agrees with the counts in the database, once counted_
  bool counted_ = false;
};

/// Answered builds in the database, and those that wait to be written there. Bounded: a build that
/// does not fit before the next write is forgotten until it is answered again. Thread-safe.
class AnsweredLedger final : public AnsweredBuilds {
 public:
  explicit AnsweredLedger(DatabaseSlot& slot) : slot_(slot) {}

  void Note(uid_t uid, AnsweredBuild build) override;
  bool Has(uid_t uid, const Digest& key) override;
  std::vector<AnsweredBuild> Of(uid_t uid) override;
  std::vector<Digest> KeysWith(uid_t uid, const DigestPrefix& prefix, size_t most) override;
  std::vector<uid_t> Users() override;

  /// For the writer: returns the rows to write. Until Written() is called, it returns the same rows
  /// again, with those that came since. Valid until the next call.
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
