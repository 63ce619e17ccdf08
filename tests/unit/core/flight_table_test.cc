// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/coordinator/flight_table.h"

#include <catch2/catch.hpp>

namespace cccl_cache::daemon::flight_table_test {
namespace {

const cccl_cache::Digest kKey = cccl_cache::Sha256("key");

BuildPtr NewWaiter(FlightTable& table) {
  auto waiter = std::make_unique<Build>();
  waiter->ticket = table.Open();
  return waiter;
}

TEST_CASE("an answer from elsewhere ends a flight's running compile") {
  FlightTable table;
  const auto joined = table.Join(NewWaiter(table), kKey, {});
  const auto started = table.Begin(joined.flight);
  REQUIRE(started);
  CHECK_FALSE(started->stop.stop_requested());
  CHECK(table.Finish(joined.flight).size() == 1);
  CHECK(started->stop.stop_requested());
}

TEST_CASE("a parked waiter is taken once") {
  FlightTable table;
  BuildPtr waiter = NewWaiter(table);
  const FlightTable::Ticket ticket = waiter->ticket;
  table.Park(std::move(waiter));
  CHECK(table.TakeParked(ticket) != nullptr);
  CHECK(table.TakeParked(ticket) == nullptr);
}

TEST_CASE("a parked waiter is dropped if its caller leaves before or after it is parked") {
  FlightTable table;
  BuildPtr waiter = NewWaiter(table);
  const FlightTable::Ticket ticket = waiter->ticket;
  table.Park(std::move(waiter));
  CHECK(table.Leave(ticket).waiter != nullptr);
  CHECK(table.TakeParked(ticket) == nullptr);

  BuildPtr late = NewWaiter(table);
  const FlightTable::Ticket left = late->ticket;
  table.Leave(left);
  table.Park(std::move(late));
  CHECK(table.TakeParked(left) == nullptr);
  CHECK(table.WaitUntilIdle(std::chrono::milliseconds(0)));
}

TEST_CASE("a waiter with on_miss finish stays when its caller leaves, and draining ignores it") {
  FlightTable table;
  auto waiter = std::make_unique<Build>();
  const FlightTable::Ticket ticket = waiter->ticket = table.Open(true);
  table.Park(std::move(waiter));
  CHECK_FALSE(table.WaitUntilIdle(std::chrono::milliseconds(0)));
  CHECK(table.Leave(ticket).waiter == nullptr);
  CHECK(table.WaitUntilIdle(std::chrono::milliseconds(0)));
  const FlightTable::Ticket other = table.Open();
  CHECK_FALSE(table.WaitUntilIdle(std::chrono::milliseconds(0)));
  REQUIRE(table.TakeParked(ticket) != nullptr);
  CHECK(table.Close(ticket));
  CHECK_FALSE(table.WaitUntilIdle(std::chrono::milliseconds(0)));
  CHECK(table.Close(other));
  CHECK(table.WaitUntilIdle(std::chrono::milliseconds(0)));
}

TEST_CASE("of one user's abandoned waiters with on_miss finish in a flight, one stays") {
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

TEST_CASE("a build set to end with its caller ends even if the caller has left") {
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

TEST_CASE("all waiters are found at the end, including parked ones") {
  FlightTable table;
  table.Join(NewWaiter(table), kKey, {});
  table.Park(NewWaiter(table));
  CHECK(table.TakeAll().size() == 2);
}

TEST_CASE("no compile begins once all are cancelled") {
  FlightTable table;
  const auto joined = table.Join(NewWaiter(table), kKey, {});
  table.CancelAll();
  CHECK_FALSE(table.Begin(joined.flight));
}

TEST_CASE("an ambiguous prefix of keys finds no build") {
  FlightTable table;
  Digest key = kKey;
  for (int i = 0; i < 2; ++i) {
    BuildPtr waiter = NewWaiter(table);
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
