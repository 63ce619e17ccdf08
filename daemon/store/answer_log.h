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

/// The database rows that record for which builds each user got an answer. Only the writer thread
/// may call Write and Reopened. The other functions are thread-safe.
class AnsweredTable {
 public:
  using Limits = AccountUsage::Limits;
  static constexpr Limits kLimits{.per_account = 65'536, .in_all = 524'288};
  using Rows = std::map<std::pair<uid_t, Digest>, AnsweredBuild>;

  /// `find_account` is used as in AccountUsage.
  explicit AnsweredTable(const Limits& limits, FindAccount find_account = {})
      : limits_(limits), usage_(limits, std::move(find_account)) {}

  /// Writes the rows. If a limit is exceeded then, drops old rows of the uids that
  /// AccountUsage::MustGiveWay returns: the oldest ones of a sample of the uid's rows.
  [[nodiscard]] std::optional<DatabaseError> Write(Database& database, const Rows& rows);
  /// Must be called after the database was reopened or replaced. The next Write then counts its
  /// rows again.
  void Reopened() { counted_ = false; }

  /// Adds the user's rows to `rows`. Rows that can't be read are left out.
  static void Read(Database& database, uid_t uid, Rows* rows);
  [[nodiscard]] static bool Has(Database& database, uid_t uid, const Digest& key);
  /// Adds the user's keys with this prefix to `keys`: the first `most` in ascending order.
  static void ReadKeys(Database& database, uid_t uid, const DigestPrefix& prefix, size_t most,
                       std::set<Digest>* keys);
  static void ReadUsers(Database& database, std::vector<uid_t>* users);

 private:
  /// The writes of one transaction, and the number of rows of each uid after it.
  struct Plan {
    std::vector<ColumnWrite> writes;
    std::map<uid_t, uint64_t> counts;
  };
  [[nodiscard]] static uint64_t CountOf(Database& database, uid_t uid, Plan& plan);
  [[nodiscard]] std::optional<DatabaseError> Commit(Database& database, Plan plan);
  /// Drops the uid's oldest rows in a sample that begins at the key `start`. Drops at least one
  /// row, and at most as many as exceed the limit.
  [[nodiscard]] std::optional<DatabaseError> DropOldest(Database& database, uid_t uid,
                                                        const Digest& start);
  /// Reads the number of rows of each uid from the database.
  void CountAll(Database& database);

  const Limits limits_;
  AccountUsage usage_;  // equals the numbers of rows in the database if counted_ is true
  bool counted_ = false;
};

/// Records for which builds each user got an answer. New records wait in memory until the writer
/// writes them to the database. If too many wait, a new one is dropped; the next answer records it
/// again. Thread-safe.
class AnsweredLedger final : public AnsweredBuilds {
 public:
  explicit AnsweredLedger(DatabaseSlot& slot) : slot_(slot) {}

  void Note(uid_t uid, AnsweredBuild build) override;
  bool Has(uid_t uid, const Digest& key) override;
  std::vector<AnsweredBuild> Of(uid_t uid) override;
  std::vector<Digest> KeysWith(uid_t uid, const DigestPrefix& prefix, size_t most) override;
  std::vector<uid_t> Users() override;

  /// Returns the rows to write. Only for the writer thread. Until Written() is called, each call
  /// returns the rows of the call before and those added since. The reference is valid until the
  /// next call.
  [[nodiscard]] const AnsweredTable::Rows& Next();
  void Written();

 private:
  DatabaseSlot& slot_;
  Mutex mutex_;
  AnsweredTable::Rows waiting_ GUARDED_BY(mutex_);
  /// Only the writer thread changes it, so that thread may read it without the lock.
  AnsweredTable::Rows writing_ GUARDED_BY(mutex_);
};

}  // namespace cccl_cache::daemon
