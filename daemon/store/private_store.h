// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/lru.h"
#include "base/mutex.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/statistics.h"
#include "daemon/core/model/tier.h"
#include "daemon/store/database.h"
#include "daemon/store/rows.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Private entries in the database. Those in use are in memory as well. An index in memory has the
/// keys and sizes of all entries. The bytes are limited for each account and in total. To make room
/// for an entry, its user's entries of earlier insertions are evicted first, then those of the
/// account's other uids. Above the total, those of the account with the most are evicted.
/// Thread-safe.
class PrivateStore final : public PrivateEntries {
 public:
  struct Limits {
    uint64_t per_user = 1ull << 30;  ///< limit of each account
    uint64_t in_all = 4ull << 30;
    FindAccount find_account = {};  ///< empty: each uid counts as its own account
  };

  /// `memory` also keeps the entries that are requested, under separate keys; may be null. All
  /// arguments must outlive the object.
  PrivateStore(const Limits& limits, DatabaseSlot& slot, Tier* memory, Statistics& statistics)
      : limits_(limits),
        slot_(slot),
        memory_(memory),
        statistics_(statistics),
        usage_({limits.per_user, limits.in_all}, limits.find_account) {}

  /// Reads the index of this database. Evicts entries beyond the limits, which may have been
  /// lowered.
  void Load(Database& database);

  bool MayHave(uid_t uid, const Digest& key) override;
  Found Get(uid_t uid, const Digest& key) override;
  Found FindInMemory(uid_t uid, const Digest& key) override;
  [[nodiscard]] uint64_t limit_bytes() const override { return limits_.per_user; }
  uint64_t NextGeneration(uid_t uid, std::chrono::system_clock::time_point now) override;
  Result<Inserted> Put(uid_t uid, const Digest& key, const ArtifactPtr& artifact,
                       uint64_t generation) override;

  // For upkeep:

  /// Returns the users with entries, ascending.
  [[nodiscard]] std::vector<uid_t> Users();
  struct Listed {
    Digest key;
    uint64_t bytes = 0;  ///< bytes that count against the limits
  };
  /// Returns the user's entries in the order of their keys, at most `most`, from the first key that
  /// is not below `from`.
  [[nodiscard]] std::vector<Listed> List(uid_t uid, std::string_view from, size_t most);
  /// Drops those of the given entries that the user has. Returns their size. Waits for the disk.
  [[nodiscard]] Result<TierSize> Remove(uid_t uid, std::span<const Digest> keys);
  /// Reads an entry from the disk, and drops it if it does not verify.
  [[nodiscard]] Soundness Verify(uid_t uid, const Digest& key);

 private:
  struct Place {
    uid_t uid = 0;
    Digest key;
    bool operator==(const Place&) const = default;
  };
  struct PlaceHash {
    size_t operator()(const Place& place) const { return DigestHash()(place.key) ^ place.uid; }
  };
  /// The number of each entry's insertion. A user's entries are in the order of insertion.
  using Index = PerUserLru<Place, uint64_t, PlaceHash, uid_t>;

  /// Adds a written entry to the index.
  void Note(const Place& place, const PrivateUsage& usage) REQUIRES(changing_);
  /// Drops entries of a user.
  std::optional<DatabaseError> Drop(Database& database, uid_t uid, std::span<const Digest> keys)
      REQUIRES(changing_);
  Status MakeRoom(Database& database, uid_t uid, const PrivateUsage& incoming) REQUIRES(changing_);
  /// Drops the user's oldest entry. Returns false if the entry is of this or a later generation, or
  /// if the disk refuses.
  [[nodiscard]] bool DropOldest(Database& database, uid_t uid, uint64_t generation)
      REQUIRES(changing_);
  /// Drops the oldest entry of that uid of the account, other than `uid`, that has the most.
  [[nodiscard]] bool DropOldestBeside(Database& database, Account account, uid_t uid)
      REQUIRES(changing_);
  /// Drops a broken or missing entry.
  void Forget(const Place& place);

  const Limits limits_;
  DatabaseSlot& slot_;
  Tier* const memory_;
  Statistics& statistics_;

  Mutex changing_;  ///< one change of the database at a time
  AccountUsage usage_ GUARDED_BY(changing_);
  Mutex mutex_;
  Index index_ GUARDED_BY(mutex_){{}};
  uint64_t changes_ GUARDED_BY(mutex_) = 0;  ///< counts changes that may make entries in memory out
                                             ///< of date
};

}  // namespace cccl_cache::daemon
