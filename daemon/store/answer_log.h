// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/model/tier.h"
#include "daemon/store/database.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// What users were answered with, as rows of the database. Write belongs to the writer; the rest is
/// thread-safe.
class AnsweredTable {
 public:
  struct Limits {
    uint64_t per_user = 65'536;
    uint64_t in_all = 524'288;
  };
  using Rows = std::map<std::pair<uid_t, Digest>, AnsweredBuild>;

  explicit AnsweredTable(Limits limits) : limits_(limits) {}

  /// Of a user that has more than the limit the oldest of a sample go, and so of all users
  /// together.
  [[nodiscard]] std::optional<DatabaseError> Write(Database& database, const Rows& rows);

  /// A user's rows are added to what is there already.
  static void Read(Database& database, uid_t uid, Rows* rows);
  [[nodiscard]] static bool Has(Database& database, uid_t uid, const Digest& key);
  static void ReadUsers(Database& database, std::vector<uid_t>* users);

 private:
  /// Counts as they will be once `writes` are written.
  struct Plan {
    std::vector<ColumnWrite> writes;
    std::map<uid_t, uint64_t> counts;
  };
  [[nodiscard]] static uint64_t CountOf(Database& database, uid_t uid, Plan& plan);
  [[nodiscard]] static std::optional<DatabaseError> Commit(Database& database, Plan plan);
  /// Drops up to `surplus` of the rows that begin with `prefix`, looking at some from `start` on.
  [[nodiscard]] static std::optional<DatabaseError> DropOldest(Database& database,
                                                               const std::string& prefix,
                                                               const std::string& start,
                                                               uint64_t surplus);
  [[nodiscard]] static std::optional<DatabaseError> Trim(Database& database, uid_t uid,
                                                         const std::string& start, uint64_t limit);

  const Limits limits_;
};

/// Answered builds: those in the database, and those that are to be written there. Bounded: what
/// does not fit before the next write is forgotten until it is answered again. Thread-safe.
class AnsweredLedger final : public AnsweredBuilds {
 public:
  explicit AnsweredLedger(DatabaseSlot& slot) : slot_(slot) {}

  void Note(uid_t uid, AnsweredBuild build) override;
  bool Has(uid_t uid, const Digest& key) override;
  std::vector<AnsweredBuild> Of(uid_t uid) override;
  std::vector<uid_t> Users() override;

  /// For the writer: what is to be written. The same again, and what came since, until it was
  /// Written. Valid until the next call.
  [[nodiscard]] const AnsweredTable::Rows& Next();
  void Written();

 private:
  DatabaseSlot& slot_;
  std::mutex mutex_;
  AnsweredTable::Rows waiting_;  ///< guarded by mutex_
  /// Changed under mutex_ and by the writer only, so the writer may read it without.
  AnsweredTable::Rows writing_;
};

}  // namespace cccl_cache::daemon
