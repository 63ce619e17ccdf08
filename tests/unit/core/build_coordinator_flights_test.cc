// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "daemon/core/coordinator/coordinator.h"
#include "tests/unit/core/coordinator_bench.h"

namespace cccl_cache::daemon::build_coordinator_flights_test {
namespace {

using testing::Answers;
using testing::CoordinatorBench;
using testing::kAlice;
using testing::kBob;
using testing::MakeRequest;
using testing::SourceAsOutput;

TEST_CASE("one_compile_for_many_callers: 1,000 callers in one process") {
  CoordinatorBench bench(SourceAsOutput);
  bench.compiler.Shut();
  Answers answers;
  std::vector<std::thread> callers;
  for (int thread = 0; thread < 10; ++thread) {
    callers.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        bench.coordinator->Start(MakeRequest("same"), kAlice, answers.Collect());
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  bench.compiler.Open();
  const auto all = answers.Wait(1000);
  REQUIRE(all.size() == 1000);
  CHECK(bench.compiler.started() == 1);
  size_t built = 0;
  std::set<const Artifact*> artifacts;
  for (const auto& answer : all) {
    REQUIRE(answer.ok());
    built += answer->outcome == Outcome::kBuilt;
    artifacts.insert(answer->artifact.get());
  }
  CHECK(built == 1);
  CHECK(artifacts.size() == 1);
  CHECK(bench.Count(Counter::kJoins) == 999);
  CHECK(bench.Count(Counter::kCompiles) == 1);
}

TEST_CASE("last_waiter_cancels: a compile is cancelled when its last waiter leaves") {
  CoordinatorBench bench(SourceAsOutput);
  bench.compiler.Shut();
  Answers answers;
  const auto first = bench.coordinator->Start(MakeRequest("a"), kAlice, answers.Collect());
  const auto second = bench.coordinator->Start(MakeRequest("a"), kBob, answers.Collect());
  REQUIRE(bench.compiler.WaitUntilStarted(1));
  CHECK(bench.coordinator->Gauges().in_flight == 1);
  CHECK(bench.coordinator->Gauges().waiting == 2);
  bench.coordinator->Leave(first);
  CHECK(bench.Count(Counter::kCancelled) == 0);
  bench.coordinator->Leave(second);
  REQUIRE(bench.compiler.WaitUntilCancelled(1));
  bench.compiler.Open();
  CHECK(bench.BuildOne("a").outcome == Outcome::kBuilt);
  CHECK(answers.size() == 0);
  CHECK(bench.Count(Counter::kCancelled) == 1);
}

TEST_CASE("leader_leaves: waiters get the result of the leader's compile") {
  CoordinatorBench bench(SourceAsOutput);
  bench.compiler.Shut();
  Answers of_leader;
  Answers of_follower;
  const auto leader = bench.coordinator->Start(MakeRequest("a"), kAlice, of_leader.Collect());
  bench.coordinator->Start(MakeRequest("a"), kBob, of_follower.Collect());
  REQUIRE(bench.compiler.WaitUntilStarted(1));
  bench.coordinator->Leave(leader);
  bench.compiler.Open();
  const auto answers = of_follower.Wait(1);
  REQUIRE(answers.size() == 1);
  REQUIRE(answers[0].ok());
  CHECK(answers[0]->artifact->parts[0].bytes == "a");
  CHECK(answers[0]->outcome == Outcome::kBuilt);
  CHECK(bench.compiler.started() == 1);
  CHECK(of_leader.size() == 0);
}

TEST_CASE("a flight leaves the queue when its last waiter leaves") {
  CoordinatorBench bench(SourceAsOutput, {.slots = 1});
  bench.compiler.Shut();
  Answers answers;
  bench.coordinator->Start(MakeRequest("runs"), kAlice, answers.Collect());
  REQUIRE(bench.compiler.WaitUntilStarted(1));
  const auto queued = bench.coordinator->Start(MakeRequest("waits"), kAlice, answers.Collect());
  CHECK(bench.coordinator->Gauges().queued == 1);
  bench.coordinator->Leave(queued);
  CHECK(bench.coordinator->Gauges().queued == 0);
  bench.compiler.Open();
  CHECK(answers.Wait(1).size() == 1);
  CHECK(bench.compiler.started() == 1);
}

TEST_CASE("a full queue refuses builds with a retry time, and hits are still answered") {
  CoordinatorBench bench(SourceAsOutput, {.slots = 1});
  bench.BuildOne("hit");
  bench.compiler.Shut();
  Answers answers;
  bench.coordinator->Start(MakeRequest("runs"), kAlice, answers.Collect());
  REQUIRE(bench.compiler.WaitUntilStarted(2));
  for (int i = 0; i < 4; ++i) {
    bench.coordinator->Start(MakeRequest(std::to_string(i)), kAlice, answers.Collect());
  }
  const auto refused = bench.Ask(MakeRequest("one too many"));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kOverloaded);
  CHECK(refused.error().retry_after.count() > 0);
  CHECK(bench.Count(Counter::kRefused) == 1);
  CHECK(bench.BuildOne("hit").outcome == Outcome::kHit);
  bench.compiler.Open();
  CHECK(answers.Wait(5).size() == 5);
}

TEST_CASE("a second call of an uncacheable build joins no compile that has begun") {
  CoordinatorBench bench(SourceAsOutput);
  bench.compiler.Shut();
  Answers answers;
  bench.coordinator->Start(MakeRequest("__DATE__"), kAlice, answers.Collect());
  REQUIRE(bench.compiler.WaitUntilStarted(1));
  bench.coordinator->Start(MakeRequest("__DATE__"), kAlice, answers.Collect());
  REQUIRE(bench.compiler.WaitUntilStarted(2));
  bench.compiler.Open();
  for (const auto& answer : answers.Wait(2)) CHECK(answer->outcome == Outcome::kUncacheable);
  CHECK(answers.size() == 2);
}

}  // namespace
}  // namespace cccl_cache::daemon::build_coordinator_flights_test
