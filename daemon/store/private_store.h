// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/mutex.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/statistics.h"
#include "daemon/core/model/tier.h"
#include "daemon/store/database.h"
#include "daemon/store/rows.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// The keys of users' private entries, as far as memory holds them. A user's set is complete, or
/// absent if it is too large or was not read yet. Not thread-safe.
class PrivateKeys {
 public:
  using Keys = std::unordered_set<Digest, DigestHash>;
  struct Bounds {
    size_t per_user = 64 << 10;
    size_t in_all = 256 << 10;  ///< some 64 bytes each
  };

  explicit PrivateKeys(const Bounds& bounds) : bounds_(bounds) {}

  /// The user has entries; their keys are not known.
  void AddUser(uid_t uid) { users_.try_emplace(uid); }
  [[nodiscard]] bool MayHave(uid_t uid, const Digest& key) const;
  /// Returns the users that may have entries, ascending.
  [[nodiscard]] std::vector<uid_t> Users() const;
  /// Returns whether reading the user's keys would help: they are unknown, and not too many.
  [[nodiscard]] bool Lacks(uid_t uid) const;
  /// Sets `keys` as the complete set of the user's keys.
  void Learn(uid_t uid, Keys keys);
  void Add(uid_t uid, const Digest& key);
  void Remove(uid_t uid, const Digest& key);
  /// Marks the user's keys as unknown.
  void Forget(uid_t uid);

 private:
  struct User {
    std::optional<Keys> keys;
    bool too_many = false;
  };
  /// Counts the added keys; drops the user's set if the user, or all users, have too many.
  void Count(User& user, size_t added);
  void Drop(User& user);

  const Bounds bounds_;
  std::unordered_map<uid_t, User> users_;  // users that may have entries
  size_t known_ = 0;                       // number of keys of all users
};

/// Private entries in the database; those in use are in memory as well. Thread-safe.
class PrivateStore final : public PrivateEntries {
 public:
  struct Limits {
    uint64_t per_user = 1ull << 30;  ///< limit of each account
    uint64_t in_all = 4ull << 30;
    PrivateKeys::Bounds known_keys = {};
    FindAccount find_account = {};  ///< empty: each uid counts as itself
  };

  /// `memory` also keeps the entries that are asked for, under separate keys; may be null. All
  /// arguments must outlive the object.
  PrivateStore(const Limits& limits, DatabaseSlot& slot, Tier* memory, Statistics& statistics)
      : limits_(limits),
        slot_(slot),
        memory_(memory),
        statistics_(statistics),
        usage_({limits.per_user, limits.in_all}, limits.find_account),
        keys_(limits.known_keys) {}

  /// Reads which users have entries in this database, and how many bytes. No other users have any.
  void Load(Database& database);

  bool MayHave(uid_t uid, const Digest& key) override;
  Found Get(uid_t uid, const Digest& key) override;
  Found FindInMemory(uid_t uid, const Digest& key) override;
  [[nodiscard]] uint64_t limit_bytes() const override { return limits_.per_user; }
  uint64_t NextGeneration(uid_t uid, std::chrono::system_clock::time_point now) override;
  Result<Inserted> Put(uid_t uid, const Digest& key, const ArtifactPtr& artifact,
                       uint64_t generation) override;

  // For upkeep; these wait for the disk, except Users.

  /// Returns the users that may have entries, ascending.
  [[nodiscard]] std::vector<uid_t> Users();
  struct Listed {
    Digest key;
    uint64_t bytes = 0;  ///< bytes that count against the limits
  };
  /// Returns the user's entries in the order of their keys, at most `most`, from the first whose
  /// key's bytes are not below `from`.
  [[nodiscard]] Result<std::vector<Listed>> List(uid_t uid, std::string_view from, size_t most);
  /// Drops the given entries that the user has. Returns their size.
  [[nodiscard]] Result<TierSize> Remove(uid_t uid, std::span<const Digest> keys);
  /// Reads an entry from the disk, and drops it if it does not verify.
  [[nodiscard]] Soundness Verify(uid_t uid, const Digest& key);

 private:
  /// Changes that are not written yet, and the totals after them.
  struct Plan {
    std::vector<ColumnWrite> writes;
    std::vector<Digest> changed;  ///< memory keys of the changed entries
    std::map<uid_t, PrivateUsage> totals;
  };
  static PrivateUsage& TotalOf(Database& database, uid_t uid, Plan& plan);
  std::optional<DatabaseError> Commit(Database& database, Plan plan) REQUIRES(changing_);
  static void Remove(Database& database, uid_t uid, const Digest& key, const PrivateUsage& usage,
                     Plan& plan);
  Status MakeRoom(Database& database, uid_t uid, const PrivateUsage& incoming) REQUIRES(changing_);
  /// Drops the user's oldest entries until `surplus` bytes are free or one write is full. Returns
  /// false if all entries are of this generation or later, or if the disk refuses.
  [[nodiscard]] bool DropOldest(Database& database, uid_t uid, uint64_t surplus,
                                uint64_t generation) REQUIRES(changing_);
  /// Drops the oldest entries of the uid of the account, other than `uid`, that has the most.
  [[nodiscard]] bool DropOldestBeside(Database& database, Account account, uid_t uid,
                                      uint64_t surplus) REQUIRES(changing_);
  /// Drops the oldest entries of a uid that inserts nothing just now. Returns false if none went.
  [[nodiscard]] bool DropOldestOfAnother(Database& database, uid_t uid, uint64_t surplus)
      REQUIRES(changing_);
  void Forget(uid_t uid, const Digest& key);
  /// Reads the keys of a user's entries, unless they are known or a change is in progress.
  void LearnKeys(Database& database, uid_t uid);
  [[nodiscard]] uint64_t Changes();

  const Limits limits_;
  DatabaseSlot& slot_;
  Tier* const memory_;
  Statistics& statistics_;

  Mutex changing_;  ///< one change at a time: totals are read, then written
  AccountUsage usage_ GUARDED_BY(changing_);  ///< agrees with the totals
  /// The last dropped row of the order, by user. A scan that starts before it would pass over all
  /// deleted rows again.
  std::map<uid_t, std::string> dropped_up_to_ GUARDED_BY(changing_);
  Mutex mutex_;
  PrivateKeys keys_ GUARDED_BY(mutex_);
  uint64_t changes_ GUARDED_BY(mutex_) = 0;  ///< commits that may outdate what memory holds
};

}  // namespace cccl_cache::daemon
