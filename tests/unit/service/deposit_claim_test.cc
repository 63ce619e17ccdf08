// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "daemon/service/calls/acquire_call.h"

namespace cccl_cache::daemon {
namespace {

using Kind = cccl_cache::DepositScope::Kind;

const Peer kPeer = {.uid = 1000, .gid = 100, .groups = {27, 65534, 70000}};

DepositAsk AskFor(std::optional<uint32_t> gid = std::nullopt) {
  DepositAsk ask;
  ask.name_space = "org.example";
  ask.fields = {{"name", "value"}};
  ask.gid = gid;
  ask.wait = std::chrono::milliseconds(9);
  return ask;
}

TEST_CASE("who names no group asks for what is his alone") {
  const auto claim = ClaimOf(AskFor(), kPeer);
  REQUIRE(claim.ok());
  CHECK(claim->uid == 1000);
  CHECK(claim->scope.kind == Kind::kUser);
  CHECK(claim->scope.id == 1000);
  CHECK(claim->name_space == "org.example");
  CHECK(claim->wait == std::chrono::milliseconds(9));
}

TEST_CASE("a group counts if it is the caller's first one or another of his") {
  for (const gid_t gid : {100u, 27u, 70000u}) {
    const auto claim = ClaimOf(AskFor(gid), kPeer);
    REQUIRE(claim.ok());
    CHECK(claim->scope.kind == Kind::kGroup);
    CHECK(claim->scope.id == gid);
  }
}

TEST_CASE(
    "a group that the caller is not in is denied, and so is that which stands for unknown ones") {
  for (const gid_t gid : {0u, 28u, 65534u}) {
    const auto claim = ClaimOf(AskFor(gid), kPeer);
    REQUIRE_FALSE(claim.ok());
    CHECK(claim.error().code == ErrorCode::kDenied);
    CHECK(claim.error().message ==
          "user 1000 was not in group " + std::to_string(gid) + " when it connected");
  }
}

TEST_CASE("users, groups, namespaces and fields have keys of their own") {
  const auto key = [](const DepositAsk& ask, const Peer& peer) { return ClaimOf(ask, peer)->key; };
  const auto mine = key(AskFor(), kPeer);
  CHECK(key(AskFor(), kPeer) == mine);
  CHECK(key(AskFor(), {.uid = 1001, .gid = 100}) != mine);
  CHECK(key(AskFor(100), kPeer) != mine);
  // The user of the same number as the group.
  CHECK(key(AskFor(100), kPeer) != key(AskFor(), {.uid = 100, .gid = 100}));
  CHECK(key(AskFor(100), kPeer) == key(AskFor(100), {.uid = 1001, .gid = 100}));
  DepositAsk other = AskFor();
  other.name_space = "org.example2";
  CHECK(key(other, kPeer) != mine);
  other = AskFor();
  other.fields[0].value = "other";
  CHECK(key(other, kPeer) != mine);
}

}  // namespace
}  // namespace cccl_cache::daemon
