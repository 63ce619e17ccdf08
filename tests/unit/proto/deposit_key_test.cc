// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/deposit_key.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

namespace cccl_cache::deposit_key_test {
namespace {

using Fields = std::vector<DepositField>;

constexpr DepositScope kUser{DepositScope::Kind::kUser, 1000};
constexpr DepositScope kGroup{DepositScope::Kind::kGroup, 1000};

TEST_CASE("the keys of deposits are the same on every machine and in every version") {
  const std::string zero("a\0b", 3);
  CHECK(DepositKey(kUser, "org.example", {}).Hex() ==
        "b6bfdb533f35d49118a46e2f18fed947cbe7cb7463625a61041508af22dcca5a");
  CHECK(DepositKey(kUser, "org.example", {{"arch", "sm_90"}, {"code", zero}}).Hex() ==
        "f30d49d669de7aa56b5728fc98da37ec0b2d8d9ff1573715f561cd7c28398724");
  CHECK(DepositKey(kGroup, "org.example", {{"arch", "sm_90"}, {"code", zero}}).Hex() ==
        "a7fc97665c1c620ea16a10660cb9070a9497976bdb64b075c85d8ae2cbd3cc37");
}

TEST_CASE("a deposit's identity does not depend on its user; its key does") {
  const Digest identity = DepositIdentity("n", DepositFieldsDigest({{"a", "1"}}));
  CHECK(DepositKey(kUser, identity) == DepositKey(kUser, "n", {{"a", "1"}}));
  CHECK(DepositKey(kGroup, identity) == DepositKey(kGroup, "n", {{"a", "1"}}));
  CHECK(DepositKey(kUser, identity) != DepositKey(kGroup, identity));
  CHECK(DepositIdentity("m", DepositFieldsDigest({{"a", "1"}})) != identity);
  CHECK(DepositIdentity("n", DepositFieldsDigest({{"a", "2"}})) != identity);
}

TEST_CASE("the order in which fields are given does not matter") {
  CHECK(DepositKey(kUser, "n", {{"a", "1"}, {"b", "2"}, {"c", "3"}}) ==
        DepositKey(kUser, "n", {{"c", "3"}, {"a", "1"}, {"b", "2"}}));
}

TEST_CASE("two different deposits have different keys") {
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
}  // namespace cccl_cache::deposit_key_test
