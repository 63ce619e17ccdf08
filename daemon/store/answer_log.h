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
#include "daemon/core/model/tier.h"
#include "daemon/store/database.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// The builds that each user was answered with, as rows of the database. Write is for the writer
/// thread only; the other functions are thread-safe.
class AnsweredTable {
 public:
  struct Limits {
    uint64_t per_user = 65'536;
    uint64_t in_all = 524'288;
  };
  using Rows = std::map<std::pair<uid_t, Digest>, AnsweredBuild>;

  explicit AnsweredTable(Limits limits) : limits_(limits) {}

  /// Writes the rows. A user over the `per_user` limit loses the oldest rows of a sample; so do all
  /// users together over `in_all`.
  [[nodiscard]] std::optional<DatabaseError> Write(Database& database, const Rows& rows);

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
  [[nodiscard]] static std::optional<DatabaseError> Commit(Database& database, Plan plan);
  /// Drops up to `surplus` of the oldest rows with `prefix`, from a sample that begins at `start`.
  [[nodiscard]] static std::optional<DatabaseError> DropOldest(Database& database,
                                                               const std::string& prefix,
                                                               const std::string& start,
                                                               uint64_t surplus);
  [[nodiscard]] static std::optional<DatabaseError> Trim(Database& database, uid_t uid,
                                                         const std::string& start, uint64_t limit);

  const Limits limits_;
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
