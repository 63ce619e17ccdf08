// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/core/lease/deposit.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/tier.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Which deposits are kept, whose they are, and which must go. Each account's bytes are bounded,
/// and those of all: for a deposit that does not fit, its account's own least recently used ones
/// go, then those of the account that has most, so that nobody pushes out what others use. Of an
/// account's users the one who has most loses them. Thread-safe.
class DepositIndex {
 public:
  /// What a deposit counts at the least: so a million empty ones are not free.
  static constexpr uint64_t kLeastCharge = 16 << 10;

  struct Limits {
    uint64_t bytes_per_uid = 1ull << 30;  ///< of each account
    uint64_t bytes = 4ull << 30;
  };

  /// `find_account` may be empty: each uid counts as itself.
  explicit DepositIndex(const Limits& limits, FindAccount find_account = {})
      : limits_(limits), usage_({limits.bytes_per_uid, limits.bytes}, std::move(find_account)) {}

  /// Whether one of this size may be kept at all.
  [[nodiscard]] bool Fits(uint64_t size) const;
  /// What a deposit of this size counts.
  [[nodiscard]] static uint64_t Charge(uint64_t size) { return std::max(size, kLeastCharge); }
  /// As the most recently used; in place of one of the same key. Returns what had to go for it;
  /// what does not fit at all goes itself.
  [[nodiscard]] std::vector<Digest> Add(const DepositRecord& record);
  /// Which addition it came with: another one of the same key has another number.
  [[nodiscard]] std::optional<uint64_t> Find(const Digest& key) const;
  /// It was handed out. Returns its record if that is to be written down: once an hour.
  [[nodiscard]] std::optional<DepositRecord> Use(const Digest& key, std::chrono::sys_seconds now);
  /// False, and nothing happens, if another addition has replaced that one, or nothing is there.
  [[nodiscard]] bool Remove(const Digest& key, uint64_t addition);
  /// False, and nothing happens, unless this user deposited it.
  [[nodiscard]] bool RemoveOwn(const Digest& key, uid_t uid);
  /// What this user deposited, in the order of the keys, at most `count`, from the first one behind
  /// `after`; with none from the first.
  [[nodiscard]] std::vector<DepositRecord> List(uid_t uid, const std::optional<Digest>& after,
                                                size_t count) const;
  [[nodiscard]] TierSize size() const;

 private:
  struct Entry {
    DepositRecord record;
    uint64_t addition = 0;
  };
  using Entries = std::list<Entry>;
  struct User {
    Entries oldest_first;  // never empty
    uint64_t bytes = 0;
  };

  // These require mutex_ held.
  void Drop(Entries::iterator entry);

  const Limits limits_;
  mutable std::mutex mutex_;
  std::unordered_map<uid_t, User> users_;  // guarded by mutex_, as all below
  std::unordered_map<Digest, Entries::iterator, DigestHash> by_key_;
  AccountUsage usage_;
  uint64_t additions_ = 0;
};

}  // namespace cccl_cache::daemon
