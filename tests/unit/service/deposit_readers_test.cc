// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "daemon/service/limits/budget.h"

namespace cccl_cache::daemon {
namespace {

DepositContents Contents() { return std::make_shared<const std::string>(1000, 'x'); }

TEST_CASE(
    "the same bytes count once for each user who reads them, as long as one of his calls does") {
  Budget budget(ServiceLimits{});
  DepositReaders readers(budget);
  const DepositContents contents = Contents();
  {
    auto first = readers.Add(Account(1), contents);
    {
      auto second = readers.Add(Account(1), contents);
      auto other = readers.Add(Account(2), contents);
      REQUIRE(first.ok());
      REQUIRE(second.ok());
      REQUIRE(other.ok());
      CHECK(budget.Used(Resource::kBytes) == 2000);
    }
    CHECK(budget.Used(Resource::kBytes) == 1000);
  }
  CHECK(budget.Used(Resource::kBytes) == 0);
  auto again = readers.Add(Account(1), contents);
  CHECK(budget.Used(Resource::kBytes) == 1000);
}

TEST_CASE("equal bytes that lie elsewhere count for themselves") {
  Budget budget(ServiceLimits{});
  DepositReaders readers(budget);
  auto one = readers.Add(Account(1), Contents());
  auto other = readers.Add(Account(1), Contents());
  CHECK(budget.Used(Resource::kBytes) == 2000);
}

TEST_CASE("who reads too much at one time is refused, and nobody else") {
  ServiceLimits limits;
  limits.bytes_in_flight_per_uid = 1500;
  Budget budget(limits);
  DepositReaders readers(budget);
  auto one = readers.Add(Account(1), Contents());
  auto refused = readers.Add(Account(1), Contents());
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kOverloaded);
  CHECK(readers.Add(Account(2), Contents()).ok());
}

}  // namespace
}  // namespace cccl_cache::daemon
