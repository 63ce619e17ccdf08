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

/// Records the stored deposits with their owners, and selects those to evict. The bytes of each
/// account and the total are bounded. To make room for a deposit, its own account's least recently
/// used ones are evicted, then those of the account that uses most. So a user can't evict deposits
/// that others use. Within an account, the user who uses most loses them. Thread-safe.
class DepositIndex {
 public:
  /// Minimum charge of a deposit in bytes, because each costs memory even if it is empty.
  static constexpr uint64_t kLeastCharge = 16 << 10;

  /// `find_account` may be empty: then each uid is an account.
  explicit DepositIndex(const DepositLimits& limits, FindAccount find_account = {})
      : limits_(limits), usage_({limits.bytes_per_uid, limits.bytes}, std::move(find_account)) {}

  /// Returns whether a deposit of this size, in bytes, is within the limits.
  [[nodiscard]] bool Fits(uint64_t size) const;
  /// Returns the charge of a deposit of this size, in bytes.
  [[nodiscard]] static uint64_t Charge(uint64_t size) { return std::max(size, kLeastCharge); }
  /// Adds the deposit as the most recently used one, replacing one of the same key. Returns the
  /// keys that must be evicted, or its own key if it exceeds the limits by itself.
  [[nodiscard]] std::vector<Digest> Add(const DepositRecord& record);
  /// Returns the number of the addition; a later addition of the same key has another number.
  [[nodiscard]] std::optional<uint64_t> Find(const Digest& key) const;
  /// Marks the deposit as used. Returns its record if the caller must write the new time of use to
  /// the store. This is so at most once an hour for each deposit; otherwise, and for an unknown
  /// key, returns none.
  [[nodiscard]] std::optional<DepositRecord> Use(const Digest& key, std::chrono::sys_seconds now);
  /// Returns false, and does nothing, unless the deposit is still that of this addition.
  [[nodiscard]] bool Remove(const Digest& key, uint64_t addition);
  /// Returns the removed record. Returns none, and does nothing, unless this user owns the deposit.
  [[nodiscard]] std::optional<DepositRecord> RemoveOwn(const Digest& key, uid_t uid);
  /// Returns at most `count` of this user's deposits in the order of their keys, after the key
  /// `after` or from the first one.
  [[nodiscard]] std::vector<DepositRecord> List(uid_t uid, const std::optional<Digest>& after,
                                                size_t count) const;
  /// Returns the users with deposits, ascending.
  [[nodiscard]] std::vector<uid_t> Users() const;
  [[nodiscard]] TierSize size() const;

 private:
  struct Kept {
    DepositRecord record;
    uint64_t addition = 0;
  };
  // The third type is a uid: `usage_`, which counts accounts, selects the uid that loses a deposit.
  using Lru = PerUserLru<Digest, Kept, DigestHash, uid_t>;

  void Drop(const Digest& key) REQUIRES(mutex_);

  const DepositLimits limits_;
  mutable Mutex mutex_;
  Lru entries_ GUARDED_BY(mutex_){{}};
  AccountUsage usage_ GUARDED_BY(mutex_);
  uint64_t additions_ GUARDED_BY(mutex_) = 0;
};

}  // namespace cccl_cache::daemon
