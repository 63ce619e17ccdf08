// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "daemon/core/model/account.h"
#include "daemon/core/model/statistics.h"
#include "daemon/core/model/tier.h"
#include "daemon/store/database.h"
#include "daemon/store/rows.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Which private entries users have, as far as memory holds it: exactly, or not at all for a user
/// who has too many or whose keys nobody has read yet. Not thread-safe.
class PrivateKeys {
 public:
  using Keys = std::unordered_set<Digest, DigestHash>;
  struct Bounds {
    size_t per_user = 64 << 10;
    size_t in_all = 256 << 10;  ///< 64 bytes each, or so
  };

  explicit PrivateKeys(const Bounds& bounds) : bounds_(bounds) {}

  /// The user has some, nobody knows which.
  void AddUser(uid_t uid) { users_.try_emplace(uid); }
  [[nodiscard]] bool MayHave(uid_t uid, const Digest& key) const;
  /// Whether it would be of use to read the user's keys.
  [[nodiscard]] bool Lacks(uid_t uid) const;
  /// These are all that the user has.
  void Learn(uid_t uid, Keys keys);
  void Add(uid_t uid, const Digest& key);
  void Remove(uid_t uid, const Digest& key);
  /// Nobody knows any more what the user has.
  void Forget(uid_t uid);
  [[nodiscard]] size_t most_per_user() const { return bounds_.per_user; }

 private:
  struct User {
    std::optional<Keys> keys;
    bool too_many = false;
  };
  /// Unless the user, or all, have too many.
  void Count(User& user, size_t added);
  void Drop(User& user);

  const Bounds bounds_;
  std::unordered_map<uid_t, User> users_;  // who may have any
  size_t known_ = 0;                       // keys of all
};

/// Private entries in the database, those in use in memory as well. Thread-safe.
class PrivateStore final : public PrivateEntries {
 public:
  struct Limits {
    uint64_t per_user = 1ull << 30;  ///< of each account
    uint64_t in_all = 4ull << 30;
    PrivateKeys::Bounds known_keys = {};
    FindAccount find_account = {};  ///< empty: each uid counts as itself
  };

  /// `memory`: what is asked for is kept there too, under keys of its own; may be null. All must
  /// outlive the object.
  PrivateStore(const Limits& limits, DatabaseSlot& slot, Tier* memory, Statistics& statistics)
      : limits_(limits),
        slot_(slot),
        memory_(memory),
        statistics_(statistics),
        usage_({limits.per_user, limits.in_all}, limits.find_account),
        keys_(limits.known_keys) {}

  /// Finds out who has entries in this database, and how much; nobody has any others.
  void Load(Database& database);

  bool MayHave(uid_t uid, const Digest& key) override;
  Found Get(uid_t uid, const Digest& key) override;
  Found FindInMemory(uid_t uid, const Digest& key) override;
  [[nodiscard]] uint64_t limit_bytes() const override { return limits_.per_user; }
  uint64_t NextGeneration(uid_t uid, std::chrono::system_clock::time_point now) override;
  Result<Inserted> Put(uid_t uid, const Digest& key, const ArtifactPtr& artifact,
                       uint64_t generation) override;

 private:
  /// Changes that were not written yet, and totals as they will be then.
  struct Plan {
    std::vector<ColumnWrite> writes;
    std::vector<Digest> changed;  ///< keys in memory of what they change
    std::map<uid_t, PrivateUsage> totals;
  };
  static PrivateUsage& TotalOf(Database& database, uid_t uid, Plan& plan);
  std::optional<DatabaseError> Commit(Database& database, Plan plan);
  static void Remove(Database& database, uid_t uid, const Digest& key, const PrivateUsage& usage,
                     Plan& plan);
  Status MakeRoom(Database& database, uid_t uid, const PrivateUsage& incoming);
  /// Drops the user's oldest, as many as are needed or go at once. False: there are none but of
  /// this generation, or the disk refuses.
  [[nodiscard]] bool DropOldest(Database& database, uid_t uid, uint64_t surplus,
                                uint64_t generation);
  /// Drops the oldest of the account's uid that has most, but for this one.
  [[nodiscard]] bool DropOldestBeside(Database& database, Account account, uid_t uid,
                                      uint64_t surplus);
  void Forget(uid_t uid, const Digest& key);
  /// Reads which entries a user has, if that is not known and nothing is being changed now.
  void LearnKeys(Database& database, uid_t uid);
  [[nodiscard]] uint64_t Changes();

  const Limits limits_;
  DatabaseSlot& slot_;
  Tier* const memory_;
  Statistics& statistics_;

  std::mutex changing_;  ///< one change at a time: totals are read, then written
  AccountUsage usage_;   ///< as the totals say; guarded by changing_
  /// The last row of the order that was dropped, for what is gone is passed over anew by each scan
  /// that starts before it; guarded by changing_.
  std::map<uid_t, std::string> dropped_up_to_;
  std::mutex mutex_;
  PrivateKeys keys_;      ///< guarded by mutex_
  uint64_t changes_ = 0;  ///< so often memory may have become wrong; guarded by mutex_
};

}  // namespace cccl_cache::daemon
