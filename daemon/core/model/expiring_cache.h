// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "base/lru.h"
#include "base/mutex.h"
#include "daemon/core/model/account.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

using Now = std::function<std::chrono::steady_clock::time_point()>;

/// A cache in memory whose entries expire after a fixed time, for example compile failures. The
/// bytes of each account and in total are limited, so that no account displaces the entries of
/// others: see PerUserLru. Thread-safe.
template <typename Value>
class ExpiringCache {
 public:
  /// Number of bytes for which an entry counts in addition to the bytes of its value.
  static constexpr size_t kEntryBytes = 256;
  /// One account may use at most 1/kShares of the capacity.
  static constexpr size_t kShares = 8;

  ExpiringCache(std::chrono::steady_clock::duration lifetime, size_t capacity_bytes, Now now)
      : now_(std::move(now)),
        entries_({.max_bytes = capacity_bytes,
                  .max_bytes_per_user = capacity_bytes / kShares,
                  .lifetime = lifetime}) {}

  [[nodiscard]] std::optional<Value> Find(const Digest& key) {
    const MutexLock lock(mutex_);
    const auto* const found = entries_.Find(key, now_());
    return found == nullptr ? std::nullopt : std::optional(found->value);
  }

  /// Returns whether there are no entries, so that the caller need not hash a key.
  [[nodiscard]] bool empty() {
    const MutexLock lock(mutex_);
    return entries_.size() == 0;
  }

  /// Adds the entry, and replaces an earlier one. `bytes` is the size of the value. If the entry is
  /// larger than the share of one account, it is not kept.
  void Remember(const Digest& key, Account account, Value value, size_t bytes) {
    typename Lru::Entries gone;  // freed after the lock
    const MutexLock lock(mutex_);
    gone = entries_.Insert(account, key, std::move(value), kEntryBytes + bytes, now_());
  }

 private:
  using Lru = PerUserLru<Digest, Value, DigestHash, Account>;

  const Now now_;
  Mutex mutex_;
  Lru entries_ GUARDED_BY(mutex_);
};

}  // namespace cccl_cache::daemon
