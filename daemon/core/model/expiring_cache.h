// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "daemon/core/model/account.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

using Now = std::function<std::chrono::steady_clock::time_point()>;

/// A cache in memory whose entries expire after a fixed time: a compile failure by fingerprint, or
/// a quarantined input by uid and fingerprint. Bounded in bytes, for each account and for all
/// together, so that no account evicts what others rely on. An account over its share evicts its
/// own oldest entry. Over the total, the account that holds most evicts its oldest. Thread-safe.
template <typename Failure>
class ExpiringCache {
 public:
  /// Bytes charged for an entry besides those that Remember is told of.
  static constexpr size_t kEntryBytes = 256;
  /// One account may hold one part in this many of the capacity.
  static constexpr size_t kShares = 8;

  ExpiringCache(std::chrono::steady_clock::duration lifetime, size_t capacity_bytes, Now now)
      : lifetime_(lifetime), capacity_(capacity_bytes), now_(std::move(now)) {}

  [[nodiscard]] std::optional<Failure> Find(const Digest& key) {
    std::lock_guard lock(mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end() || found->second->expires <= now_()) return std::nullopt;
    return found->second->failure;
  }

  /// `bytes`: the size of what the failure holds. An entry larger than one account's share is not
  /// kept.
  void Remember(const Digest& key, Account account, Failure failure, size_t bytes) {
    std::lock_guard lock(mutex_);
    DropExpired();
    if (const auto found = by_key_.find(key); found != by_key_.end()) Drop(found->second);
    const Entry entry{key, account, kEntryBytes + bytes, std::move(failure), now_() + lifetime_};
    if (entry.bytes > capacity_ / kShares) return;
    MakeRoom(entry);
    Share& share = shares_[account];
    share.oldest_first.push_back(entry);
    share.bytes += entry.bytes;
    bytes_ += entry.bytes;
    by_key_[key] = std::prev(share.oldest_first.end());
  }

 private:
  struct Entry {
    Digest key;
    Account account;
    size_t bytes;
    Failure failure;
    std::chrono::steady_clock::time_point expires;
  };
  struct Share {
    std::list<Entry> oldest_first;  // never empty
    size_t bytes = 0;
  };
  using Place = typename std::list<Entry>::iterator;

  // These require mutex_ held.
  void MakeRoom(const Entry& entry) {
    for (auto share = shares_.find(entry.account);
         share != shares_.end() && share->second.bytes + entry.bytes > capacity_ / kShares;
         share = shares_.find(entry.account)) {
      Drop(share->second.oldest_first.begin());
    }
    while (bytes_ + entry.bytes > capacity_) {
      const auto largest = std::ranges::max_element(
          shares_, {}, [](const auto& share) { return share.second.bytes; });
      Drop(largest->second.oldest_first.begin());
    }
  }
  void DropExpired() {
    const auto now = now_();
    for (auto next = shares_.begin(); next != shares_.end();) {
      const auto share = next++;
      for (size_t left = share->second.oldest_first.size();
           left > 0 && share->second.oldest_first.front().expires <= now; --left) {
        Drop(share->second.oldest_first.begin());
      }
    }
  }
  void Drop(Place place) {
    const auto share = shares_.find(place->account);
    share->second.bytes -= place->bytes;
    bytes_ -= place->bytes;
    by_key_.erase(place->key);
    share->second.oldest_first.erase(place);
    if (share->second.oldest_first.empty()) shares_.erase(share);
  }

  const std::chrono::steady_clock::duration lifetime_;
  const size_t capacity_;
  const Now now_;

  std::mutex mutex_;
  std::map<Account, Share> shares_;                       // guarded by mutex_
  size_t bytes_ = 0;                                      // guarded by mutex_
  std::unordered_map<Digest, Place, DigestHash> by_key_;  // guarded by mutex_
};

}  // namespace cccl_cache::daemon
