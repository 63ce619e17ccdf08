// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

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

#include "proto/digest.h"

namespace cccl_cached {

using Now = std::function<std::chrono::steady_clock::time_point()>;

/// What went wrong lately, kept for a fixed time and only in memory: a compile failure by
/// fingerprint, or a quarantined input by uid and fingerprint. Bounded in bytes, each user's and
/// all together, so that nobody pushes out what others ran into: a user's own oldest goes first,
/// then the oldest of whoever has most. Thread-safe.
template <typename Failure>
class FailureMemory {
 public:
  /// What an entry costs besides the bytes that it is said to hold.
  static constexpr size_t kEntryBytes = 256;
  /// One user may have this part of the whole.
  static constexpr size_t kShares = 8;

  FailureMemory(std::chrono::steady_clock::duration lifetime, size_t capacity_bytes, Now now)
      : lifetime_(lifetime), capacity_(capacity_bytes), now_(std::move(now)) {}

  [[nodiscard]] std::optional<Failure> Find(const cccl_cache::Digest& key) {
    std::lock_guard lock(mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end() || found->second->expires <= now_()) return std::nullopt;
    return found->second->failure;
  }

  /// `uid`: on whose account it is kept. `bytes`: of the failure's texts.
  void Remember(const cccl_cache::Digest& key, uid_t uid, Failure failure, size_t bytes) {
    std::lock_guard lock(mutex_);
    DropExpired();
    if (const auto found = by_key_.find(key); found != by_key_.end()) Drop(found->second);
    const Entry entry{key, uid, kEntryBytes + bytes, std::move(failure), now_() + lifetime_};
    if (entry.bytes > capacity_ / kShares) return;
    MakeRoom(entry);
    User& user = users_[uid];
    user.oldest_first.push_back(entry);
    user.bytes += entry.bytes;
    bytes_ += entry.bytes;
    by_key_[key] = std::prev(user.oldest_first.end());
  }

 private:
  struct Entry {
    cccl_cache::Digest key;
    uid_t uid;
    size_t bytes;
    Failure failure;
    std::chrono::steady_clock::time_point expires;
  };
  struct User {
    std::list<Entry> oldest_first;  // never empty
    size_t bytes = 0;
  };
  using Place = typename std::list<Entry>::iterator;

  // All of these require mutex_ held.
  void MakeRoom(const Entry& entry) {
    for (auto user = users_.find(entry.uid);
         user != users_.end() && user->second.bytes + entry.bytes > capacity_ / kShares;
         user = users_.find(entry.uid)) {
      Drop(user->second.oldest_first.begin());
    }
    while (bytes_ + entry.bytes > capacity_) {
      const auto largest =
          std::ranges::max_element(users_, {}, [](const auto& user) { return user.second.bytes; });
      Drop(largest->second.oldest_first.begin());
    }
  }
  void DropExpired() {
    const auto now = now_();
    for (auto next = users_.begin(); next != users_.end();) {
      const auto user = next++;
      for (size_t left = user->second.oldest_first.size();
           left > 0 && user->second.oldest_first.front().expires <= now; --left) {
        Drop(user->second.oldest_first.begin());
      }
    }
  }
  void Drop(Place place) {
    const auto user = users_.find(place->uid);
    user->second.bytes -= place->bytes;
    bytes_ -= place->bytes;
    by_key_.erase(place->key);
    user->second.oldest_first.erase(place);
    if (user->second.oldest_first.empty()) users_.erase(user);
  }

  const std::chrono::steady_clock::duration lifetime_;
  const size_t capacity_;
  const Now now_;

  std::mutex mutex_;
  std::map<uid_t, User> users_;  // guarded by mutex_
  size_t bytes_ = 0;             // guarded by mutex_
  std::unordered_map<cccl_cache::Digest, Place, cccl_cache::DigestHash>
      by_key_;  // guarded by mutex_
};

}  // namespace cccl_cached
