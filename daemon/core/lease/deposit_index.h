// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/lru.h"
#include "base/mutex.h"
#include "daemon/core/lease/deposit.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/limits.h"
#include "daemon/core/model/tier.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Records which deposits are stored and who owns them, and selects the deposits to evict. The
/// bytes of each account and of all accounts are limited. If an account is full, its own least
/// recently used deposits make room for a new one. If all accounts together are full, the account
/// that uses most loses deposits. So no user can evict the deposits of users who use less. Within
/// an account, the user who uses most loses them. Thread-safe.
class DepositIndex {
 public:
  /// A deposit counts as at least this many bytes, because even an empty one takes memory.
  static constexpr uint64_t kLeastCharge = 16 << 10;

  /// If `find_account` is empty, each uid is its own account.
  explicit DepositIndex(const DepositLimits& limits, FindAccount find_account = {})
      : limits_(limits), usage_({limits.bytes_per_uid, limits.bytes}, std::move(find_account)) {}

  /// Returns whether a deposit of `size` bytes can be stored at all, if nothing else is stored.
  [[nodiscard]] bool Fits(uint64_t size) const;
  /// Returns the number of bytes for which a deposit of `size` bytes counts.
  [[nodiscard]] static uint64_t Charge(uint64_t size) { return std::max(size, kLeastCharge); }
  /// Adds the deposit as the most recently used one, and replaces a deposit with the same key.
  /// Returns the keys of the deposits that the caller must remove from the store. If the deposit
  /// does not fit at all, that is its own key.
  [[nodiscard]] std::vector<Digest> Add(const DepositRecord& record);
  /// Returns the number that Add has given to this deposit; none if there is no deposit with this
  /// key. If the deposit is replaced, it gets another number.
  [[nodiscard]] std::optional<uint64_t> Find(const Digest& key) const;
  /// Returns DepositRecord::took of this deposit; 0 if there is none.
  [[nodiscard]] std::chrono::microseconds TimeOf(const Digest& key) const;
  /// Returns whether this user has made such a deposit on this node.
  [[nodiscard]] bool IsMadeBy(const Digest& key, uid_t uid) const;
  /// Marks the deposit as used now. The new time must be stored only once an hour: then the record
  /// is returned, and the caller must write it to the store. Otherwise, or if there is no such
  /// deposit, returns none.
  [[nodiscard]] std::optional<DepositRecord> Use(const Digest& key, std::chrono::sys_seconds now);
  /// Removes the deposit. Returns false, and removes nothing, if it is gone, or was replaced since
  /// Find returned the number `addition`.
  [[nodiscard]] bool Remove(const Digest& key, uint64_t addition);
  /// Removes the deposit and returns its record. Returns none, and removes nothing, if this user
  /// does not own such a deposit.
  [[nodiscard]] std::optional<DepositRecord> RemoveOwn(const Digest& key, uid_t uid);
  /// Returns deposits of this user, in the order of their keys: the first `count` ones whose keys
  /// are greater than `after`, or without `after` the first `count` ones.
  [[nodiscard]] std::vector<DepositRecord> List(uid_t uid, const std::optional<Digest>& after,
                                                size_t count) const;
  /// Returns the users who own deposits, in ascending order.
  [[nodiscard]] std::vector<uid_t> Users() const;
  [[nodiscard]] TierSize size() const;

 private:
  struct Kept {
    DepositRecord record;
    uint64_t addition = 0;
  };
  // Entries are grouped by uid and not by account, because `usage_` selects the uid that loses a
  // deposit.
  using Lru = PerUserLru<Digest, Kept, DigestHash, uid_t>;

  void Drop(const Digest& key) REQUIRES(mutex_);

  const DepositLimits limits_;
  mutable Mutex mutex_;
  Lru entries_ GUARDED_BY(mutex_){{}};
  AccountUsage usage_ GUARDED_BY(mutex_);
  uint64_t additions_ GUARDED_BY(mutex_) = 0;
};

}  // namespace cccl_cache::daemon
