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

/// The entries that users inserted for themselves (private entries), in the database. The memory
/// tier also keeps those in use. An index in memory has the keys and sizes of all entries. The
/// bytes of each account and of all accounts together are limited. If an account is full, the
/// user's entries of earlier insertions are evicted first, then entries of the account's other
/// uids. If the total is reached, entries of the account with the most bytes are evicted.
/// Thread-safe.
class PrivateStore final : public PrivateEntries {
 public:
  struct Limits {
    uint64_t per_user = 1ull << 30;  ///< maximum bytes of each account
    uint64_t in_all = 4ull << 30;
    FindAccount find_account = {};  ///< empty: each uid counts as its own account
  };

  /// `memory` is the memory tier. It also keeps private entries that were read, under keys of their
  /// own. It may be null. All arguments must outlive the object.
  PrivateStore(const Limits& limits, DatabaseSlot& slot, Tier* memory, Statistics& statistics)
      : limits_(limits),
        slot_(slot),
        memory_(memory),
        statistics_(statistics),
        usage_({limits.per_user, limits.in_all}, limits.find_account) {}

  /// Builds the index from this database. Evicts entries if a limit is exceeded, which may have
  /// been lowered since the entries were written.
  void Load(Database& database);

  bool MayHave(uid_t uid, const Digest& key) override;
  Found Get(uid_t uid, const Digest& key) override;
  Found FindInMemory(uid_t uid, const Digest& key) override;
  [[nodiscard]] uint64_t limit_bytes() const override { return limits_.per_user; }
  uint64_t NextGeneration(uid_t uid, std::chrono::system_clock::time_point now) override;
  Result<Inserted> Put(uid_t uid, const Digest& key, const ArtifactPtr& artifact,
                       uint64_t generation) override;

  // These functions are for StoreUpkeep.

  /// Returns the uids that have private entries, in ascending order.
  [[nodiscard]] std::vector<uid_t> Users();
  struct Listed {
    Digest key;
    uint64_t bytes = 0;  ///< bytes that count against the limits
  };
  /// Returns at most `most` entries of the user in ascending order of their keys, starting with the
  /// first key that is not less than `from`.
  [[nodiscard]] std::vector<Listed> List(uid_t uid, std::string_view from, size_t most);
  /// Deletes the user's entries with these keys. Ignores keys that the user does not have. Returns
  /// the number and size of the deleted entries. Waits for the disk.
  [[nodiscard]] Result<TierSize> Remove(uid_t uid, std::span<const Digest> keys);
  /// Reads an entry from the disk and checks it. Deletes the entry if it is broken.
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
  /// Maps each entry to the number of its insertion (generation). The entries of a user are in the
  /// order in which they were inserted.
  using Index = PerUserLru<Place, uint64_t, PlaceHash, uid_t>;

  /// Adds an entry to the index that was written to the database.
  void Note(const Place& place, const PrivateUsage& usage) REQUIRES(changing_);
  /// Deletes the user's entries with these keys from the database, the index and the memory tier.
  std::optional<DatabaseError> Drop(Database& database, uid_t uid, std::span<const Digest> keys)
      REQUIRES(changing_);
  Status MakeRoom(Database& database, uid_t uid, const PrivateUsage& incoming) REQUIRES(changing_);
  /// Deletes the user's oldest entry. Returns false if there is none, if its generation is not less
  /// than `generation`, or if the database can't be written.
  [[nodiscard]] bool DropOldest(Database& database, uid_t uid, uint64_t generation)
      REQUIRES(changing_);
  /// Among the account's uids except `uid`, finds the one with the most bytes, and deletes its
  /// oldest entry. Returns false if there is no such uid, or if the database can't be written.
  [[nodiscard]] bool DropOldestBeside(Database& database, Account account, uid_t uid)
      REQUIRES(changing_);
  /// Deletes an entry that was found broken or missing, unless it was replaced meanwhile.
  void Forget(const Place& place);

  const Limits limits_;
  DatabaseSlot& slot_;
  Tier* const memory_;
  Statistics& statistics_;

  Mutex changing_;  ///< held during each change of the database and of the index
  AccountUsage usage_ GUARDED_BY(changing_);
  Mutex mutex_;
  Index index_ GUARDED_BY(mutex_){{}};
  uint64_t changes_ GUARDED_BY(mutex_) = 0;  ///< increases with each change after which an artifact
                                             ///< that was read before may be out of date
};

}  // namespace cccl_cache::daemon
