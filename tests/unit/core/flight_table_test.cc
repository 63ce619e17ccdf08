// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/coordinator/flight_table.h"

#include <catch2/catch.hpp>

namespace cccl_cache::daemon::flight_table_test {
namespace {

const cccl_cache::Digest kKey = cccl_cache::Sha256("key");

TEST_CASE("a flight keeps one build with on_miss finish per user whose callers have left") {
  FlightTable table;
  const auto join = [&table](uid_t uid) {
    auto waiter = std::make_unique<Build>();
    const FlightTable::Ticket ticket = waiter->ticket = table.Open(true);
    waiter->peer = {uid, uid, {}, 1};
    waiter->request = std::make_shared<cccl_cache::BuildRequest>();
    table.Join(std::move(waiter), kKey, {});
    return ticket;
  };
  const auto first = join(7);
  const auto second = join(7);
  const auto of_other = join(8);
  CHECK(table.Leave(first).waiter != nullptr);
  CHECK(table.Leave(second).waiter == nullptr);
  CHECK(table.Leave(of_other).waiter == nullptr);
  CHECK(table.Waiting() == 2);
  CHECK(table.WaitUntilIdle(std::chrono::milliseconds(0)));
}

TEST_CASE("EndWithCaller ends a build even if its caller has already left") {
  FlightTable table;
  for (const bool leaves_first : {true, false}) {
    auto waiter = std::make_unique<Build>();
    const FlightTable::Ticket ticket = waiter->ticket = table.Open(true);
    if (leaves_first) table.Leave(ticket);
    table.EndWithCaller(ticket);
    if (!leaves_first) table.Leave(ticket);
    CHECK(table.Join(std::move(waiter), kKey, {}).flight == 0);
    CHECK(table.WaitUntilIdle(std::chrono::milliseconds(0)));
  }
}

TEST_CASE("an ambiguous prefix of keys is an error") {
  FlightTable table;
  Digest key = kKey;
  for (int i = 0; i < 2; ++i) {
    auto waiter = std::make_unique<Build>();
    waiter->ticket = table.Open();
    waiter->peer.uid = 7;
    waiter->request = std::make_shared<BuildRequest>();
    auto plan = std::make_shared<BuildPlan>();
    plan->key = key;
    waiter->plan = std::move(plan);
    table.Join(std::move(waiter), key, {});
    key.bytes.back() ^= 1;
  }
  const auto several = table.RequestOf(*DigestPrefix::FromHex(kKey.Hex().substr(0, 63)), 7);
  REQUIRE_FALSE(several.ok());
  CHECK(several.error().code == ErrorCode::kInvalidRequest);
  const auto one = table.RequestOf(kKey, 7);
  REQUIRE(one.ok());
  CHECK(*one != nullptr);
}

}  // namespace
}  // namespace cccl_cache::daemon::flight_table_test
