// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/lru.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace cccl_cache::lru_test {
namespace {

using Cache = PerUserLru<int, std::string, std::hash<int>, int>;
constexpr int kAlice = 1;
constexpr int kBob = 2;

Cache::Time At(int seconds) { return Cache::Time(std::chrono::seconds(seconds)); }

/// Inserts the entry, and returns the keys of the entries evicted for it.
std::vector<int> Insert(Cache& cache, int user, int key, uint64_t bytes, int now = 0) {
  std::vector<int> gone;
  for (const Cache::Entry& entry : cache.Insert(user, key, "value", bytes, At(now))) {
    gone.push_back(entry.key);
  }
  return gone;
}

using Keys = std::vector<int>;

TEST_CASE("an entry is found until it is removed") {
  Cache cache({});
  CHECK(cache.Insert(kAlice, 1, "one", 10).empty());
  REQUIRE(cache.Find(1) != nullptr);
  CHECK(cache.Find(1)->value == "one");
  CHECK(cache.Find(1)->user == kAlice);
  CHECK(cache.Find(2) == nullptr);
  CHECK(cache.bytes() == 10);
  CHECK(cache.Remove(2).empty());
  CHECK(cache.Remove(1).front().value == "one");
  CHECK(cache.Find(1) == nullptr);
  CHECK(cache.bytes() == 0);
  CHECK(cache.users().empty());
}

TEST_CASE("a second entry of a key replaces the first, even one of another user") {
  Cache cache({});
  CHECK(cache.Insert(kAlice, 1, "old", 10).empty());
  CHECK(cache.Insert(kBob, 1, "new", 5).front().value == "old");
  CHECK(cache.Find(1)->value == "new");
  CHECK(cache.size() == 1);
  CHECK(cache.bytes() == 5);
  CHECK_FALSE(cache.users().contains(kAlice));
}

TEST_CASE("a user over its share loses its own least recently used entry") {
  const auto limits =
      GENERATE(Cache::Limits{.max_bytes_per_user = 3}, Cache::Limits{.max_entries_per_user = 3});
  Cache cache(limits);
  CHECK(Insert(cache, kBob, 10, 1).empty());
  for (int key = 1; key <= 3; ++key) CHECK(Insert(cache, kAlice, key, 1).empty());
  CHECK(cache.Use(1) != nullptr);
  CHECK(cache.Find(2) != nullptr);  // does not count as a use
  CHECK(Insert(cache, kAlice, 4, 1) == Keys{2});
  CHECK(Insert(cache, kAlice, 5, 1) == Keys{3});
}

TEST_CASE("above the total limit the largest user loses its oldest entry") {
  const auto limits = GENERATE(Cache::Limits{.max_bytes = 5}, Cache::Limits{.max_entries = 5});
  Cache cache(limits);
  for (int key = 1; key <= 3; ++key) CHECK(Insert(cache, kAlice, key, 1).empty());
  for (int key = 11; key <= 12; ++key) CHECK(Insert(cache, kBob, key, 1).empty());
  CHECK(Insert(cache, 3, 21, 1) == Keys{1});
  CHECK(Insert(cache, kBob, 13, 1) == Keys{11});  // the new entry counts
}

TEST_CASE("an entry larger than a share is refused, and nothing is evicted for it") {
  const auto limits =
      GENERATE(Cache::Limits{.max_bytes = 3}, Cache::Limits{.max_bytes_per_user = 3});
  Cache cache(limits);
  CHECK(Insert(cache, kAlice, 1, 3).empty());
  CHECK(Insert(cache, kAlice, 2, 4) == Keys{2});
  CHECK(cache.Find(1) != nullptr);
}

TEST_CASE("a cache with a limit of zero entries keeps none") {
  Cache cache({.max_entries = 0});
  CHECK(Insert(cache, kAlice, 1, 0) == Keys{1});
  CHECK(cache.size() == 0);
}

TEST_CASE("an entry expires a lifetime after it was inserted, however often it is used") {
  Cache cache({.lifetime = std::chrono::seconds(10)});
  CHECK(Insert(cache, kAlice, 1, 1, 5).empty());
  CHECK(cache.Use(1, At(14)) != nullptr);
  CHECK(cache.Find(1, At(14)) != nullptr);
  CHECK(cache.Use(1, At(15)) == nullptr);
  CHECK(cache.Find(1, At(15)) == nullptr);
}

TEST_CASE("expired entries of all users make room before any other") {
  Cache cache({.max_bytes = 4, .lifetime = std::chrono::seconds(10)});
  CHECK(Insert(cache, kBob, 1, 1, 0).empty());
  CHECK(Insert(cache, kAlice, 2, 1, 8).empty());
  CHECK(Insert(cache, kAlice, 3, 2, 9).empty());
  CHECK(Insert(cache, kAlice, 4, 1, 10) == Keys{1});
}

TEST_CASE("values may be move-only") {
  PerUserLru<int, std::unique_ptr<int>> cache({});
  CHECK(cache.Insert({}, 1, std::make_unique<int>(7), 1).empty());
  REQUIRE(cache.Use(1) != nullptr);
  CHECK(**cache.Use(1) == 7);
  CHECK(*cache.Remove(1).front().value == 7);
}

/// A simple model of the rules: one list of all entries, the oldest first.
class Model {
 public:
  struct Entry {
    int user, key;
    uint64_t bytes;
    int inserted;
  };

  Model(const Cache::Limits& limits, int lifetime) : limits_(limits), lifetime_(lifetime) {}

  bool Use(int key, int now) {
    const auto found = std::ranges::find(entries_, key, &Entry::key);
    if (found == entries_.end() || now - found->inserted >= lifetime_) return false;
    std::rotate(found, found + 1, entries_.end());
    return true;
  }
  Keys Insert(const Entry& entry) {
    Keys gone = Remove(entry.key);
    for (int user = 0; user < 4; ++user) {
      for (auto oldest = Oldest(user);
           oldest != entries_.end() && entry.inserted - oldest->inserted >= lifetime_;
           oldest = Oldest(user)) {
        Drop(oldest, gone);
      }
    }
    entries_.push_back(entry);
    if (entry.bytes > std::min(limits_.max_bytes, limits_.max_bytes_per_user)) {
      Drop(entries_.end() - 1, gone);
      return gone;
    }
    while (Bytes(entry.user) > limits_.max_bytes_per_user ||
           Count(entry.user) > limits_.max_entries_per_user) {
      Drop(Oldest(entry.user), gone);
    }
    while (Bytes() > limits_.max_bytes) {
      Drop(Oldest(Heaviest([this](int user) { return Bytes(user); })), gone);
    }
    while (entries_.size() > limits_.max_entries) {
      Drop(Oldest(Heaviest([this](int user) { return Count(user); })), gone);
    }
    return gone;
  }
  Keys Remove(int key) {
    Keys gone;
    const auto found = std::ranges::find(entries_, key, &Entry::key);
    if (found != entries_.end()) Drop(found, gone);
    return gone;
  }
  uint64_t Bytes() const { return Bytes(0) + Bytes(1) + Bytes(2) + Bytes(3); }
  Keys OldestFirst(int user) const {
    Keys keys;
    for (const Entry& entry : entries_) {
      if (entry.user == user) keys.push_back(entry.key);
    }
    return keys;
  }

 private:
  using Place = std::vector<Entry>::iterator;
  uint64_t Bytes(int user) const {
    uint64_t bytes = 0;
    for (const Entry& entry : entries_) bytes += entry.user == user ? entry.bytes : 0;
    return bytes;
  }
  size_t Count(int user) const { return OldestFirst(user).size(); }
  template <typename Weight>
  static int Heaviest(Weight weight) {
    const std::vector<int> users = {0, 1, 2, 3};
    return *std::ranges::max_element(users, {}, weight);
  }
  Place Oldest(int user) { return std::ranges::find(entries_, user, &Entry::user); }
  void Drop(Place entry, Keys& gone) {
    gone.push_back(entry->key);
    entries_.erase(entry);
  }

  const Cache::Limits limits_;
  const int lifetime_;
  std::vector<Entry> entries_;
};

TEST_CASE("property: after any sequence of calls the cache equals a simple model of its rules") {
  const auto limits = GENERATE(
      Cache::Limits{.max_bytes = 60, .max_bytes_per_user = 30},
      Cache::Limits{.max_entries = 12, .max_entries_per_user = 5},
      Cache::Limits{
          .max_bytes = 50, .max_bytes_per_user = 25, .max_entries = 9, .max_entries_per_user = 6});
  constexpr int kLifetime = 40;
  Cache cache([&] {
    Cache::Limits with_lifetime = limits;
    with_lifetime.lifetime = std::chrono::seconds(kLifetime);
    return with_lifetime;
  }());
  Model model(limits, kLifetime);
  std::mt19937 random(1);  // the same every time
  const auto below = [&](int end) { return static_cast<int>(random() % end); };
  for (int now = 0; now < 5000; ++now) {
    const int key = below(30);
    switch (below(4)) {
      case 0:
        REQUIRE((cache.Use(key, At(now)) != nullptr) == model.Use(key, now));
        break;
      case 1:
        if (below(4) != 0) break;
        REQUIRE(cache.Remove(key).size() == model.Remove(key).size());
        break;
      default: {
        const int user = below(4);
        const auto bytes = static_cast<uint64_t>(below(32));
        REQUIRE(Insert(cache, user, key, bytes, now) == model.Insert({user, key, bytes, now}));
      }
    }
    REQUIRE(cache.bytes() == model.Bytes());
    for (int user = 0; user < 4; ++user) {
      Keys keys;
      if (const auto share = cache.users().find(user); share != cache.users().end()) {
        for (const Cache::Entry& entry : share->second.oldest_first) keys.push_back(entry.key);
      }
      REQUIRE(keys == model.OldestFirst(user));
    }
  }
}

}  // namespace
}  // namespace cccl_cache::lru_test
