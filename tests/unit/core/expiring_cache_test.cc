// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/model/expiring_cache.h"

#include <catch2/catch.hpp>
#include <string>

#include "daemon/core/model/account.h"

namespace cccl_cache::daemon::expiring_cache_test {
namespace {

using cccl_cache::Digest;
using cccl_cache::Sha256;
using Clock = std::chrono::steady_clock;

constexpr Account kAlice(1000);
constexpr Account kBob(1001);
constexpr size_t kShare = 4 * ExpiringCache<int>::kEntryBytes;
constexpr size_t kCapacity = kShare * ExpiringCache<int>::kShares;

Digest Key(Account account, int number) {
  return Sha256(account.Name() + "/" + std::to_string(number));
}

Clock::time_point Never() { return {}; }

TEST_CASE("a failure is remembered for its lifetime and no longer") {
  Clock::time_point now{};
  ExpiringCache<std::string> memory(std::chrono::seconds(60), kCapacity, [&] { return now; });
  memory.Remember(Sha256("a"), kAlice, "error", 5);
  now += std::chrono::seconds(59);
  CHECK(memory.Find(Sha256("a")) == "error");
  CHECK_FALSE(memory.Find(Sha256("b")));
  now += std::chrono::seconds(1);
  CHECK_FALSE(memory.Find(Sha256("a")));
}

TEST_CASE("an expired entry is evicted before any other") {
  Clock::time_point now{};
  ExpiringCache<int> memory(std::chrono::seconds(60), kCapacity, [&] { return now; });
  memory.Remember(Key(kAlice, 1), kAlice, 1, kShare / 2);
  now += std::chrono::seconds(60);
  memory.Remember(Key(kAlice, 2), kAlice, 2, kShare / 4);
  memory.Remember(Key(kAlice, 3), kAlice, 3, 0);
  CHECK(memory.Find(Key(kAlice, 2)) == 2);
  CHECK(memory.Find(Key(kAlice, 3)) == 3);
}

TEST_CASE("a full share evicts the user's oldest failure") {
  ExpiringCache<int> memory(std::chrono::seconds(60), kCapacity, Never);
  for (int i = 0; i < 4; ++i) memory.Remember(Key(kAlice, i), kAlice, i, 0);
  memory.Remember(Key(kAlice, 0), kAlice, 10, 0);
  memory.Remember(Key(kAlice, 4), kAlice, 4, 0);
  CHECK_FALSE(memory.Find(Key(kAlice, 1)));
  CHECK(memory.Find(Key(kAlice, 0)) == 10);
  CHECK(memory.Find(Key(kAlice, 4)) == 4);
}

TEST_CASE("one user's many failures evict none of another's") {
  ExpiringCache<int> memory(std::chrono::seconds(60), kCapacity, Never);
  memory.Remember(Key(kBob, 0), kBob, 7, 0);
  for (int i = 0; i < 1000; ++i) memory.Remember(Key(kAlice, i), kAlice, i, kShare / 8);
  CHECK(memory.Find(Key(kBob, 0)) == 7);
  CHECK(memory.Find(Key(kAlice, 999)) == 999);
}

TEST_CASE("a full cache evicts an entry of the account with the most bytes") {
  ExpiringCache<int> memory(std::chrono::seconds(60), kCapacity, Never);
  const uid_t heavy_users = ExpiringCache<int>::kShares - 1;
  for (uid_t uid = 0; uid < heavy_users; ++uid) {
    for (int i = 0; i < 4; ++i) memory.Remember(Key(Account(uid), i), Account(uid), i, 0);
  }
  for (int i = 0; i < 3; ++i) memory.Remember(Key(kBob, i), kBob, i, 0);
  memory.Remember(Key(kAlice, 0), kAlice, 0, 0);
  memory.Remember(Key(kAlice, 1), kAlice, 1, 0);
  for (int i = 0; i < 3; ++i) CHECK(memory.Find(Key(kBob, i)) == i);
  CHECK(memory.Find(Key(kAlice, 0)) == 0);
  CHECK_FALSE(memory.Find(Key(Account(0), 0)));
}

TEST_CASE("all uids of an account together have one share of the cache") {
  ExpiringCache<int> memory(std::chrono::seconds(60), kCapacity, Never);
  for (int i = 0; i < 4; ++i) memory.Remember(Key(kBob, i), kBob, i, 0);
  // Peers with many uids, all charged to Alice's account.
  for (uid_t uid = 100'000; uid < 101'000; ++uid) {
    const Peer peer{.uid = uid, .counted_as = kAlice};
    memory.Remember(Key(Account(uid), 0), peer.account(), 1, 0);
  }
  for (int i = 0; i < 4; ++i) CHECK(memory.Find(Key(kBob, i)) == i);
  CHECK_FALSE(memory.Find(Key(Account(100'995), 0)));
  CHECK(memory.Find(Key(Account(100'996), 0)) == 1);
}

TEST_CASE("a failure larger than a user's share is not remembered") {
  ExpiringCache<int> memory(std::chrono::seconds(60), kCapacity, Never);
  memory.Remember(Key(kAlice, 0), kAlice, 1, 0);
  memory.Remember(Key(kAlice, 1), kAlice, 2, kShare);
  CHECK_FALSE(memory.Find(Key(kAlice, 1)));
  CHECK(memory.Find(Key(kAlice, 0)) == 1);
}

}  // namespace
}  // namespace cccl_cache::daemon::expiring_cache_test
