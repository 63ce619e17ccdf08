// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <unordered_map>
#include <utility>
#include <variant>

namespace cccl_cache {

/// A bounded cache that evicts the least recently used entries first. Each user has the same
/// limits. If a user exceeds them, that user's oldest entry is evicted. If all users together
/// exceed the total limits, the oldest entry of the user with the most bytes is evicted. An entry
/// with more bytes than one user may have is not stored. Insert() first evicts entries that have
/// expired.
///
/// `User` identifies the user to whom an entry is charged: a uid, an account. By default all
/// entries are charged to one user. Not thread-safe: the owner of the cache locks. It should
/// destroy the entries that Insert() and Remove() return after it has unlocked.
///
/// BuildHistory can't use this class: its builds share closures, so the bytes of an entry depend on
/// the other entries.
template <typename Key, typename Value, typename Hash = std::hash<Key>,
          typename User = std::monostate>
class PerUserLru {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Limits {
    uint64_t max_bytes = std::numeric_limits<uint64_t>::max();
    uint64_t max_bytes_per_user = max_bytes;
    size_t max_entries = std::numeric_limits<size_t>::max();
    size_t max_entries_per_user = max_entries;
    Time::duration lifetime = Time::duration::max();  ///< counted from Insert(), not from Use()
  };

  struct Entry {
    User user;
    Key key;
    Value value;
    uint64_t bytes = 0;
    Time inserted;
  };
  using Entries = std::list<Entry>;

  /// The entries of one user.
  struct Share {
    Entries oldest_first;  ///< never empty
    uint64_t bytes = 0;
  };

  explicit PerUserLru(const Limits& limits) : limits_(limits) {}
  PerUserLru(const PerUserLru&) = delete;
  PerUserLru& operator=(const PerUserLru&) = delete;

  // The argument `now` matters only if Limits::lifetime is set.

  /// Returns null if the entry is absent or expired. Does not count as a use.
  [[nodiscard]] const Entry* Find(const Key& key, Time now = {}) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() || Expired(*found->second, now) ? nullptr : &*found->second;
  }
  /// As Find, but makes the entry the user's newest. The caller may change its value.
  [[nodiscard]] Value* Use(const Key& key, Time now = {}) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end() || Expired(*found->second, now)) return nullptr;
    Entries& own = users_.find(found->second->user)->second.oldest_first;
    own.splice(own.end(), own, found->second);
    return &found->second->value;
  }

  /// Adds an entry as the newest of its user, and replaces an entry with the same key. Returns the
  /// replaced and the evicted entries. If the new entry is too large, it is among them.
  [[nodiscard]] Entries Insert(User user, Key key, Value value, uint64_t bytes, Time now = {}) {
    Entries gone = Remove(key);
    if (limits_.lifetime != Time::duration::max()) {
      for (auto next = users_.begin(); next != users_.end();) EvictExpired(next++, now, gone);
    }
    Entries incoming;
    incoming.push_back({user, std::move(key), std::move(value), bytes, now});
    if (bytes > std::min(limits_.max_bytes, limits_.max_bytes_per_user)) {
      gone.splice(gone.end(), incoming);
      return gone;
    }
    Share& share = users_[user];
    by_key_.emplace(incoming.front().key, incoming.begin());
    share.oldest_first.splice(share.oldest_first.end(), incoming);
    share.bytes += bytes;
    bytes_ += bytes;
    for (auto loser = Loser(user); loser != users_.end(); loser = Loser(user)) {
      MoveOut(loser, loser->second.oldest_first.begin(), gone);
    }
    return gone;
  }

  /// Removes the entry and returns it. Returns an empty list if it is absent.
  [[nodiscard]] Entries Remove(const Key& key) {
    Entries gone;
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
      MoveOut(users_.find(found->second->user), found->second, gone);
    }
    return gone;
  }

  /// Removes all entries, and destroys them.
  void Clear() {
    users_.clear();
    by_key_.clear();
    bytes_ = 0;
  }

  /// Returns the users that have entries, with their entries.
  [[nodiscard]] const std::map<User, Share>& users() const { return users_; }
  [[nodiscard]] size_t size() const { return by_key_.size(); }
  [[nodiscard]] uint64_t bytes() const { return bytes_; }

 private:
  using Users = std::map<User, Share>;

  [[nodiscard]] bool Expired(const Entry& entry, Time now) const {
    return now - entry.inserted >= limits_.lifetime;
  }
  // Returns the user whose oldest entry must be evicted after an entry of `user` was added. Returns
  // users_.end() if no limit is exceeded.
  [[nodiscard]] typename Users::iterator Loser(const User& user) {
    const auto bytes = [](const auto& each) { return each.second.bytes; };
    const auto entries = [](const auto& each) { return each.second.oldest_first.size(); };
    const auto own = users_.find(user);
    if (own != users_.end() && (bytes(*own) > limits_.max_bytes_per_user ||
                                entries(*own) > limits_.max_entries_per_user)) {
      return own;
    }
    if (bytes_ > limits_.max_bytes) return std::ranges::max_element(users_, {}, bytes);
    if (size() > limits_.max_entries) return std::ranges::max_element(users_, {}, entries);
    return users_.end();
  }
  void EvictExpired(typename Users::iterator user, Time now, Entries& gone) {
    Entries& own = user->second.oldest_first;
    for (size_t left = own.size(); left > 0 && Expired(own.front(), now); --left) {
      MoveOut(user, own.begin(), gone);
    }
  }
  // Moves the entry to `gone`. If it was the last entry of the user, the user is removed too.
  void MoveOut(typename Users::iterator user, typename Entries::iterator entry, Entries& gone) {
    Share& share = user->second;
    share.bytes -= entry->bytes;
    bytes_ -= entry->bytes;
    by_key_.erase(entry->key);
    gone.splice(gone.end(), share.oldest_first, entry);
    if (share.oldest_first.empty()) users_.erase(user);
  }

  const Limits limits_;
  Users users_;
  std::unordered_map<Key, typename Entries::iterator, Hash> by_key_;
  uint64_t bytes_ = 0;
};

}  // namespace cccl_cache
