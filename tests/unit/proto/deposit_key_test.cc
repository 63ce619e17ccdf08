// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/deposit_key.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

namespace cccl_cache {
namespace {

using Fields = std::vector<DepositField>;

constexpr DepositScope kUser{DepositScope::Kind::kUser, 1000};
constexpr DepositScope kGroup{DepositScope::Kind::kGroup, 1000};

TEST_CASE("the keys of deposits are the same on every machine and in every version") {
  const std::string zero("a\0b", 3);
  CHECK(DepositKey(kUser, "org.example", {}).Hex() ==
        "d0c0bc6e291dd448740aff18faca53eedae94f0e40e40a37ee2fc3ec3aa29bf7");
  CHECK(DepositKey(kUser, "org.example", {{"arch", "sm_90"}, {"code", zero}}).Hex() ==
        "ba850c5d2f0f18d6011373a75230159810e0e311edec3e3f8a1f9bdcecd6e76d");
  CHECK(DepositKey(kGroup, "org.example", {{"arch", "sm_90"}, {"code", zero}}).Hex() ==
        "23e94e14b8c174b233e488b281c5feb3221f69424ab357946cc295548d63d65c");
}

TEST_CASE("the order in which fields are given does not matter") {
  CHECK(DepositKey(kUser, "n", {{"a", "1"}, {"b", "2"}, {"c", "3"}}) ==
        DepositKey(kUser, "n", {{"c", "3"}, {"a", "1"}, {"b", "2"}}));
}

TEST_CASE("two deposits that differ in anything have different keys") {
  const std::vector<Digest> keys = {
      DepositKey(kUser, "n", {{"a", "1"}}),
      DepositKey(kGroup, "n", {{"a", "1"}}),
      DepositKey({DepositScope::Kind::kUser, 1001}, "n", {{"a", "1"}}),
      DepositKey(kUser, "m", {{"a", "1"}}),
      DepositKey(kUser, "", {{"a", "1"}}),
      DepositKey(kUser, "n", {{"a", "2"}}),
      DepositKey(kUser, "n", {{"b", "1"}}),
      DepositKey(kUser, "n", {{"a", ""}}),
      DepositKey(kUser, "n", {}),
      DepositKey(kUser, "n", {{"a", "1"}, {"a", "1"}}),
      DepositKey(kUser, "n", {{"a", "1"}, {"a", "2"}}),
      DepositKey(kUser, "n", {{"a", "2"}, {"a", "1"}}),
      DepositKey(kUser, "na", {{"", "1"}}),
      DepositKey(kUser, "n", {{"a1", ""}}),
      DepositKey(kUser, "n", {{"", "a1"}}),
  };
  CHECK(std::set<Digest>(keys.begin(), keys.end()).size() == keys.size());
}

}  // namespace
}  // namespace cccl_cache
