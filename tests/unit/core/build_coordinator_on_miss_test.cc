// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "daemon/core/coordinator/coordinator.h"
#include "tests/unit/core/answering_caller.h"
#include "tests/unit/core/coordinator_bench.h"
#include "tests/unit/core/fake_cluster.h"
#include "tests/unit/core/stall.h"

namespace cccl_cache::daemon::build_coordinator_on_miss_test {
namespace {

using testing::Answers;
using testing::CoordinatorBench;
using testing::FakeCluster;
using testing::IncludesLocal;
using testing::kAlice;
using testing::kBob;
using testing::MakeRequest;
using testing::SourceAsOutput;
using testing::Stall;

std::shared_ptr<cccl_cache::BuildRequest> Request(const std::string& source,
                                                  cccl_cache::MissAction on_miss) {
  auto request = MakeRequest(source);
  request->on_miss = on_miss;
  return request;
}
std::shared_ptr<cccl_cache::BuildRequest> Finishing(const std::string& source) {
  return Request(source, cccl_cache::MissAction::kFinish);
}
std::shared_ptr<cccl_cache::BuildRequest> Refusing(const std::string& source) {
  return Request(source, cccl_cache::MissAction::kRefuse);
}

TEST_CASE("a compile with on_miss finish continues when its caller leaves, and others join it") {
  CoordinatorBench bench(SourceAsOutput);
  bench.compiler.Shut();
  Answers of_first;
  Answers of_second;
  const auto first = bench.coordinator->Start(Finishing("a"), kAlice, of_first.Collect());
  REQUIRE(bench.compiler.WaitUntilStarted(1));
  bench.coordinator->Leave(first);
  bench.coordinator->Leave(first);
  bench.coordinator->Start(MakeRequest("a"), kBob, of_second.Collect());
  bench.compiler.Open();
  CHECK(of_second.Wait(1).at(0)->outcome == Outcome::kJoined);
  CHECK(bench.compiler.started() == 1);
  CHECK(bench.Count(Counter::kCancelled) == 0);
}

TEST_CASE("a build with on_miss finish keeps its place in the queue when its caller leaves") {
  CoordinatorBench bench(SourceAsOutput, {.slots = 1});
  bench.compiler.Shut();
  Answers answers;
  bench.coordinator->Start(MakeRequest("runs"), kAlice, answers.Collect());
  REQUIRE(bench.compiler.WaitUntilStarted(1));
  const auto queued = bench.coordinator->Start(Finishing("waits"), kAlice, answers.Collect());
  bench.coordinator->Leave(queued);
  CHECK(bench.coordinator->Gauges().queued == 1);
  bench.compiler.Open();
  REQUIRE(bench.compiler.WaitUntilStarted(2));
  CHECK(answers.Wait(2).size() == 2);
  CHECK(bench.BuildOne("waits").outcome == Outcome::kHit);
}

TEST_CASE("a build with on_miss finish continues when its caller leaves before it is planned") {
  CoordinatorBench bench(SourceAsOutput);
  Answers answers;
  bench.toolchains.NeedLooks(1);
  const auto ticket = bench.coordinator->Start(Finishing("a"), kAlice, answers.Collect());
  bench.coordinator->Leave(ticket);
  CHECK(bench.toolchains.FinishLook() == 1);
  CHECK(answers.Wait(1).at(0)->outcome == Outcome::kBuilt);
}

TEST_CASE("a build with on_miss finish continues when its caller leaves during a disk read") {
  Stall stall;
  Answers answers;
  CoordinatorBench bench(SourceAsOutput, {.second_tier = TierName::kDisk});
  bench.disk.during_get = [&stall] { stall.Enter(); };
  const auto ticket = bench.coordinator->Start(Finishing("a"), kAlice, answers.Collect());
  REQUIRE(stall.WaitUntilEntered(1));
  bench.coordinator->Leave(ticket);
  stall.End();
  CHECK(answers.Wait(1).at(0)->outcome == Outcome::kBuilt);
}

TEST_CASE("a build with on_miss finish is cancelled if its caller sent files and leaves") {
  CoordinatorBench bench(SourceAsOutput);
  bench.compiler.Shut();
  testing::AnsweringCaller sender;
  Answers answers;
  const auto ticket =
      bench.coordinator->Start(Finishing("a"), {kAlice, sender.exchange}, answers.Collect());
  REQUIRE(bench.compiler.WaitUntilStarted(1));
  bench.coordinator->Leave(ticket);
  CHECK(bench.compiler.WaitUntilCancelled(1));
  bench.compiler.Open();
}

TEST_CASE(
    "Drain does not wait for builds without a caller, and the coordinator's end cancels them") {
  CoordinatorBench bench(SourceAsOutput);
  bench.compiler.Shut();
  Answers answers;
  const auto ticket = bench.coordinator->Start(Finishing("a"), kAlice, answers.Collect());
  REQUIRE(bench.compiler.WaitUntilStarted(1));
  bench.coordinator->Leave(ticket);
  bench.coordinator->Drain(std::chrono::hours(24));
  bench.Stop();
  CHECK(bench.compiler.WaitUntilCancelled(1));
}

TEST_CASE("a build with on_miss refuse gets only hits") {
  CoordinatorBench bench(SourceAsOutput);
  const auto missed = bench.Ask(Refusing("a"));
  REQUIRE_FALSE(missed.ok());
  CHECK(missed.error().code == ErrorCode::kNotCached);
  CHECK(bench.Count(Counter::kMisses) == 1);
  CHECK(bench.compiler.started() == 0);
  bench.BuildOne("a");
  CHECK(bench.Ask(Refusing("a"))->outcome == Outcome::kHit);
  bench.memory.Clear();
  CHECK(bench.Ask(Refusing("a"))->outcome == Outcome::kHit);
}

TEST_CASE("a build with on_miss refuse waits for no compile of another caller") {
  CoordinatorBench bench(SourceAsOutput);
  bench.compiler.Shut();
  Answers answers;
  bench.coordinator->Start(MakeRequest("a"), kAlice, answers.Collect());
  REQUIRE(bench.compiler.WaitUntilStarted(1));
  CHECK(bench.Ask(Refusing("a")).error().code == ErrorCode::kNotCached);
  bench.compiler.Open();
  CHECK(answers.Wait(1).at(0)->outcome == Outcome::kBuilt);
}

/// Compiles on another node, which stores the result in the cluster.
void CompileElsewhere(FakeCluster& cluster) {
  CoordinatorBench bench(IncludesLocal, {.cluster = &cluster});
  bench.files.disk->Write("/home/someone/local.h", "one");
  Answers answers;
  bench.coordinator->Start(MakeRequest("a"), kAlice, answers.Collect());
  cluster.Last().asker.compile();
  REQUIRE(answers.Wait(1).at(0)->outcome == Outcome::kBuilt);
}

TEST_CASE("a build with on_miss refuse hits entries of other nodes, and takes no lease") {
  FakeCluster cluster;
  CompileElsewhere(cluster);
  CoordinatorBench bench(IncludesLocal, {.cluster = &cluster});
  const size_t asked = cluster.asked();
  bench.files.disk->Write("/home/someone/local.h", "two");
  CHECK(bench.Ask(Refusing("a")).error().code == ErrorCode::kNotCached);
  bench.files.disk->Write("/home/someone/local.h", "one");
  const auto hit = bench.Ask(Refusing("a"));
  REQUIRE(hit.ok());
  CHECK(hit->tier == TierName::kRemote);
  CHECK(hit->artifact->parts[0].bytes == "from one");
  CHECK(bench.Ask(Refusing("a"))->tier == TierName::kMemory);
  CHECK(bench.compiler.started() == 0);
  CHECK(cluster.asked() == asked);
  cluster.reachable = false;
  CHECK(bench.Ask(Refusing("new")).error().code == ErrorCode::kNotCached);
}

}  // namespace
}  // namespace cccl_cache::daemon::build_coordinator_on_miss_test
