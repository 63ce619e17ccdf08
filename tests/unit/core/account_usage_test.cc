// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <map>

#include "daemon/core/model/account.h"

namespace cccl_cache::daemon::account_usage_test {
namespace {

constexpr Account kAlice(1000);
constexpr Account kBob(1001);
constexpr uid_t kFirst = 100'000;  // a subordinate uid of Alice

TEST_CASE("all uids of an account share its limit") {
  AccountUsage usage({.per_account = 100, .in_all = 1'000});
  usage.Set(1001, kBob, 90);
  for (uid_t i = 0; i < 10; ++i) usage.Set(kFirst + i, kAlice, i == 7 ? 19 : 9);
  CHECK(usage.Of(kAlice) == 100);
  CHECK(usage.MustGiveWay(kAlice, 1) == kFirst + 7);
  CHECK_FALSE(usage.MustGiveWay(kBob, 10));
}

TEST_CASE(
    "above the total limit the largest account gives way, even if each of its uids uses little") {
  AccountUsage usage({.per_account = 100, .in_all = 150});
  usage.Set(1001, kBob, 60);
  for (uid_t i = 0; i < 90; ++i) usage.Set(kFirst + i, kAlice, 1);
  const auto loser = usage.MustGiveWay(kAlice, 1);
  REQUIRE(loser);
  CHECK(*loser >= kFirst);
  usage.Set(*loser, kAlice, 0);
  CHECK_FALSE(usage.MustGiveWay(kAlice, 1));
  CHECK(usage.in_all() == 149);
}

TEST_CASE("a container gives way if containers would hold more than half") {
  AccountUsage usage({.per_account = 100, .in_all = 200});
  usage.Set(1001, kBob, 90);
  for (uid_t i = 0; i < 10; ++i) {
    usage.Set(kFirstContainerUser + i, Account(kFirstContainerUser + i), 10);
  }
  CHECK_FALSE(usage.MustGiveWay(Account(kFirstContainerUser), 10));
  const Account newcomer(kFirstContainerUser + 10);
  const auto loser = usage.MustGiveWay(newcomer, 20);
  REQUIRE(loser);
  CHECK(IsContainerUser(*loser));
  CHECK(usage.MustGiveWay(kAlice, 20) == 1001);
}

TEST_CASE("a uid is its own account until its account is known") {
  std::map<uid_t, Account> known;
  AccountUsage usage({.per_account = 100, .in_all = 150}, [&](uid_t uid) {
    const auto found = known.find(uid);
    return found == known.end() ? std::nullopt : std::optional(found->second);
  });
  usage.Set(1001, 60);
  for (uid_t i = 0; i < 45; ++i) usage.Set(kFirst + i, 2);
  CHECK(usage.MustGiveWay(kAlice, 1) == 1001);
  for (uid_t i = 0; i < 45; ++i) known.emplace(kFirst + i, kAlice);
  usage.FindSomeAgain();
  const auto loser = usage.MustGiveWay(kAlice, 1);
  REQUIRE(loser);
  CHECK(*loser >= kFirst);
  CHECK(usage.Of(kAlice) == 90);
  known.clear();  // a recent answer stays valid
  usage.Set(kFirst, 3);
  CHECK(usage.Of(kAlice) == 91);
}

TEST_CASE("before an account gives way, its uids' accounts are looked up again") {
  Account owner = kAlice;
  AccountUsage usage({.per_account = 100, .in_all = 1'000}, [&](uid_t uid) {
    return uid >= kFirst ? std::optional(owner) : std::nullopt;
  });
  usage.Set(1001, 90);
  for (uid_t i = 0; i < 4; ++i) usage.Set(kFirst + i, 25);
  CHECK(usage.MustGiveWay(kAlice, 1).has_value());
  owner = Account(1002);
  CHECK_FALSE(usage.MustGiveWay(kAlice, 1));
  CHECK(usage.Of(kAlice) == 75);
}

TEST_CASE("the bytes that a uid holds move with it to another account") {
  AccountUsage usage({.per_account = 100, .in_all = 150});
  usage.Set(kFirst, Account::OfNameless(), 40);
  usage.Set(kFirst, kAlice, 50);
  CHECK(usage.Of(Account::OfNameless()) == 0);
  CHECK(usage.Of(kAlice) == 50);
  CHECK(usage.Of(kFirst) == 50);
  CHECK(usage.LargestBeside(kAlice, kFirst) == std::nullopt);
  CHECK(usage.LargestBeside(kAlice, 1000) == kFirst);
}

TEST_CASE("no uid gives way if no uid uses anything") {
  AccountUsage usage({.per_account = 1, .in_all = 1});
  CHECK_FALSE(usage.MustGiveWay(kAlice, 2));
}

}  // namespace
}  // namespace cccl_cache::daemon::account_usage_test
