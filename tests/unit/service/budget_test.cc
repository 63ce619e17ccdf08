// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/limits/budget.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace cccl_cache::daemon::budget_test {
namespace {

ServiceLimits FewCalls() {
  ServiceLimits limits;
  limits.calls_per_uid = 2;
  limits.calls = 3;
  return limits;
}

/// Returns how many each of seven users gets if one after another takes as many as it can.
std::vector<size_t> TakenInTurn(const ServiceLimits& limits, Resource resource) {
  Budget budget(limits);
  std::vector<Share> held;
  std::vector<size_t> counts;
  for (uid_t uid = 1; uid <= 7; ++uid) {
    const size_t before = held.size();
    for (auto share = budget.Take(Account(uid), resource); share.ok();
         share = budget.Take(Account(uid), resource)) {
      held.push_back(*std::move(share));
    }
    counts.push_back(held.size() - before);
  }
  return counts;
}

TEST_CASE("a destroyed share returns to the budget") {
  Budget budget(FewCalls());
  {
    auto first = budget.Take(Account(1000), Resource::kCalls);
    auto second = budget.Take(Account(1000), Resource::kCalls);
    REQUIRE(first.ok());
    REQUIRE(second.ok());
    CHECK_FALSE(budget.Take(Account(1000), Resource::kCalls).ok());
  }
  CHECK(budget.Used(Resource::kCalls) == 0);
  CHECK(budget.Take(Account(1000), Resource::kCalls).ok());
}

TEST_CASE("a user at its limit does not affect other users; the total limit does") {
  Budget budget(FewCalls());
  auto a = budget.Take(Account(1), Resource::kCalls);
  auto b = budget.Take(Account(1), Resource::kCalls);
  auto c = budget.Take(Account(2), Resource::kCalls);
  REQUIRE(c.ok());
  auto refused = budget.Take(Account(2), Resource::kCalls);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kOverloaded);
  CHECK(refused.error().retry_after.count() > 0);
  CHECK(refused.error().message.find("calls in flight") != std::string::npos);
}

TEST_CASE("waiters get shares at once or when one is released, in order of arrival") {
  Budget budget(FewCalls());
  std::map<int, Share> given;
  const auto await = [&](uid_t uid, int waiter) {
    budget.Await(Account(uid), Resource::kCalls, static_cast<uint64_t>(waiter),
                 [&given, waiter](Share share) { given[waiter] = std::move(share); });
  };
  const auto end = [&](int waiter) {
    Share share = std::move(given.at(waiter));
    given.erase(waiter);
  };
  const auto have = [&] {
    std::vector<int> waiters;
    for (const auto& each : given) waiters.push_back(each.first);
    return waiters;
  };
  for (int waiter = 1; waiter <= 5; ++waiter) await(1000, waiter);
  CHECK(have() == std::vector{1, 2});
  budget.Withdraw(Account(1000), Resource::kCalls, 3);
  end(1);
  CHECK(have() == std::vector{2, 4});
  await(1001, 6);  // takes the last share of all three
  await(1002, 7);  // finds no free share
  CHECK(have() == std::vector{2, 4, 6});
  end(4);  // with waiter 5, user 1000 would leave none free
  CHECK(have() == std::vector{2, 6, 7});
  end(6);
  end(7);
  CHECK(have() == std::vector{2, 5});
  budget.Withdraw(Account(1002), Resource::kCalls, 7);  // waiter 7 does not wait any more
}

TEST_CASE("a few users can't hold all leases, and each newcomer gets some") {
  CHECK(TakenInTurn(ServiceLimits{}, Resource::kLeases) ==
        std::vector<size_t>{64, 64, 56, 28, 14, 7, 4});
}

TEST_CASE("a few users can't hold all streams of builds, and each newcomer gets some") {
  CHECK(TakenInTurn(ServiceLimits{}, Resource::kBatches) ==
        std::vector<size_t>{32, 29, 15, 7, 4, 2, 1});
}

TEST_CASE("a part of a resource is reserved for root and the daemon's own user") {
  const ServiceLimits limits;
  Budget budget(limits);
  std::vector<Share> held;
  for (uid_t uid = 1; uid <= 2'000; ++uid) {
    auto share = budget.Take(Account(uid), Resource::kServers);
    if (share) held.push_back(*std::move(share));
  }
  CHECK(held.size() == 960);
  CHECK_FALSE(budget.Take(Account::OfNameless(), Resource::kServers).ok());
  for (const uid_t uid : {uid_t{0}, geteuid()}) {
    CHECK(budget.Take(Account(uid), Resource::kServers).ok());
  }
}

TEST_CASE("containers together hold at most half of a resource; node users get the rest") {
  for (const Resource resource : {Resource::kServers, Resource::kConnections, Resource::kCalls}) {
    Budget budget(ServiceLimits{});
    std::vector<Share> held;
    for (uid_t i = 0; i < 20'000; ++i) {
      auto share = budget.Take(Account(kFirstContainerUser + i % 256), resource);
      if (share) held.push_back(*std::move(share));
    }
    // A newcomer takes the amount that the others must leave.
    auto last = budget.Take(Account::OfUntoldContainers(), resource);
    for (; last; last = budget.Take(Account::OfUntoldContainers(), resource)) {
      held.push_back(*std::move(last));
    }
    const uint64_t of_containers = budget.Used(resource);
    uint64_t of_others = 0;
    for (uid_t uid = 1; uid < 20'000; ++uid) {
      auto share = budget.Take(Account(uid), resource);
      if (!share) continue;
      ++of_others;
      held.push_back(*std::move(share));
    }
    CHECK(of_others >= of_containers * 7 / 8);  // all except root's reserve
    CHECK(budget.Take(Account(0), resource).ok());
    // Other containers may take what was given back.
    held.clear();
    CHECK(budget.Take(Account::OfUntoldContainers(), resource).ok());
  }
}

TEST_CASE("one account leaves at least as much of each resource as it holds") {
  for (size_t i = 0; i < static_cast<size_t>(Resource::kCount); ++i) {
    const auto resource = static_cast<Resource>(i);
    INFO(i);
    ServiceLimits limits;
    limits.calls_per_uid = limits.calls;
    limits.connections_per_uid = limits.connections;
    Budget budget(limits);
    std::vector<Share> held;
    for (auto share = budget.Take(Account(1), resource); share && held.size() < 20'000;
         share = budget.Take(Account(1), resource)) {
      held.push_back(*std::move(share));
    }
    for (size_t newcomer = 0; newcomer < held.size() && newcomer < 8; ++newcomer) {
      auto share = budget.Take(Account(2), resource);
      REQUIRE(share.ok());
      held.push_back(*std::move(share));
    }
  }
}

TEST_CASE("silent streams of builds leave half of the bytes in flight") {
  ServiceLimits limits;
  limits.bytes_in_flight = 10 * limits.message_bytes;
  const std::vector<size_t> taken = TakenInTurn(limits, Resource::kBatches);
  CHECK(taken.front() <= 4);
  CHECK(std::accumulate(taken.begin(), taken.end(), size_t{0}) <= 5);
}

TEST_CASE("a request above a user's limit has no retry time") {
  Budget budget(FewCalls());
  const auto refused = budget.Take(Account(1), Resource::kCalls, 3);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kOverloaded);
  CHECK(refused.error().retry_after.count() == 0);
}

TEST_CASE("an amount that would overflow is refused") {
  Budget budget(ServiceLimits{});
  auto most = budget.Take(Account(1), Resource::kBytes, 1);
  REQUIRE(most.ok());
  CHECK_FALSE(budget.Take(Account(1), Resource::kBytes, UINT64_MAX).ok());
}

TEST_CASE("a merged share is returned as a whole") {
  Budget budget(ServiceLimits{});
  {
    Share all;
    for (int i = 0; i < 3; ++i) {
      auto more = budget.Take(Account(1), Resource::kUploadBytes, 10);
      REQUIRE(more.ok());
      all.Merge(std::move(*more));
    }
    CHECK(all.amount() == 30);
    CHECK(budget.Used(Resource::kUploadBytes) == 30);
  }
  CHECK(budget.Used(Resource::kUploadBytes) == 0);
}

DepositContents Contents() { return std::make_shared<const std::string>(1000, 'x'); }

TEST_CASE("contents that several calls of a user read count once, until the last ends") {
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

TEST_CASE("equal bytes in another buffer count separately") {
  Budget budget(ServiceLimits{});
  DepositReaders readers(budget);
  auto one = readers.Add(Account(1), Contents());
  auto other = readers.Add(Account(1), Contents());
  CHECK(budget.Used(Resource::kBytes) == 2000);
}

TEST_CASE("a reader above its user's limit of bytes is refused, another user is not") {
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
}  // namespace cccl_cache::daemon::budget_test
