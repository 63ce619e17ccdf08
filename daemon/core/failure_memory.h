// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "proto/digest.h"

namespace cccl_cached {

using Now = std::function<std::chrono::steady_clock::time_point()>;

/// What went wrong lately, kept for a fixed time and only in memory: a compile failure by
/// fingerprint, or a quarantined input by uid and fingerprint. Bounded in number, oldest first.
/// Thread-safe.
template <typename Failure>
class FailureMemory {
 public:
  FailureMemory(std::chrono::steady_clock::duration lifetime, size_t capacity, Now now)
      : lifetime_(lifetime), capacity_(capacity), now_(std::move(now)) {}

  [[nodiscard]] std::optional<Failure> Find(const cccl_cache::Digest& key) {
    std::lock_guard lock(mutex_);
    DropExpired();
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return std::nullopt;
    return found->second->failure;
  }

  void Remember(const cccl_cache::Digest& key, Failure failure) {
    std::lock_guard lock(mutex_);
    DropExpired();
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
      oldest_first_.erase(found->second);
      by_key_.erase(found);
    }
    if (oldest_first_.size() >= capacity_) DropOldest();
    oldest_first_.push_back({key, std::move(failure), now_() + lifetime_});
    by_key_[key] = std::prev(oldest_first_.end());
  }

 private:
  struct Entry {
    cccl_cache::Digest key;
    Failure failure;
    std::chrono::steady_clock::time_point expires;
  };

  void DropOldest() {
    by_key_.erase(oldest_first_.front().key);
    oldest_first_.pop_front();
  }
  void DropExpired() {
    while (!oldest_first_.empty() && oldest_first_.front().expires <= now_()) DropOldest();
  }

  const std::chrono::steady_clock::duration lifetime_;
  const size_t capacity_;
  const Now now_;

  std::mutex mutex_;
  std::list<Entry> oldest_first_;  // guarded by mutex_
  std::unordered_map<cccl_cache::Digest, typename std::list<Entry>::iterator,
                     cccl_cache::DigestHash>
      by_key_;  // guarded by mutex_
};

}  // namespace cccl_cached
