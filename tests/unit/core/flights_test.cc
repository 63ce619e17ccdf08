// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/coordinator/flights.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/model/compiler.h"
#include "tests/support/wait_until.h"
#include "tests/unit/core/coordinator_bench.h"
#include "tests/unit/core/waiters.h"

namespace cccl_cache::daemon::flights_test {
namespace {

using testing::FakeCompiler;
using testing::kAlice;
using testing::kBob;
using testing::kPatience;
using testing::MakeRequest;
using testing::SourceAsOutput;

/// Flights with fakes. Records the builds that must start again.
class Scene {
 public:
  explicit Scene(FakeCompiler::Behaviour behaviour = SourceAsOutput,
                 const FairQueue::Bounds& queue = {.slots = 1}, uint64_t memory_bytes = 0)
      : compiler(std::move(behaviour)) {
    flights.emplace(
        Flights::Parts{table, memory, responder, {toolchains, compiler, files, statistics}, {}},
        Flights::Limits{.queue = queue, .memory = {memory_bytes, memory_bytes}},
        [this](BuildPtr waiter) {
          const std::lock_guard lock(mutex_);
          again_.push_back(std::move(waiter));
          changed_.notify_all();
        });
  }

  BuildPtr Waits(const std::string& source, const Peer& peer = kAlice) {
    return testing::MakeWaiter(table, MakeRequest(source), peer, answers.Collect());
  }
  /// Marks the build as looked up just now, without a result.
  BuildPtr KnowsAll(BuildPtr waiter) {
    waiter->findings.manifest = memory.ManifestOf(*waiter->plan, waiter->peer.uid);
    return waiter;
  }
  BuildCoordinator::Ticket Join(BuildPtr waiter) {
    const auto ticket = waiter->ticket;
    flights->Join(std::move(waiter));
    return ticket;
  }
  BuildCoordinator::Ticket Join(const std::string& source, const Peer& peer = kAlice) {
    return Join(Waits(source, peer));
  }
  /// Waits for this many builds that must start again, and returns them.
  std::vector<BuildPtr> Again(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience, [&] { return again_.size() >= count; });
    return std::exchange(again_, {});
  }
  BuildAnswer Answer(size_t number) {
    const auto all = answers.Wait(number + 1);
    REQUIRE(all.size() > number);
    INFO((all[number].ok() ? "" : all[number].error().message));
    REQUIRE(all[number].ok());
    return *all[number];
  }

  testing::FakeToolchains toolchains;
  FakeCompiler compiler;
  testing::FakeFileAccess files;
  testing::MapTier tier{TierName::kMemory};
  Statistics statistics;
  EvictionLog eviction_log;
  FlightTable table;
  BuildCache memory{{&tier}, eviction_log, {}};
  BuildHistory history{1 << 20};
  Responder responder{{table, statistics, history, nullptr, {}}};
  testing::Answers answers;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<BuildPtr> again_;  // guarded by mutex_

 public:
  std::optional<Flights> flights;  // destroyed first
};

/// Returns a compile that asks for this file, which is outside the toolchain.
FakeCompiler::Behaviour AsksFor(const std::string& name) {
  return [name](const CompileJob& job, int call) {
    static_cast<void>(job.files->Ask(name));
    return SourceAsOutput(job, call);
  };
}

TEST_CASE(
    "a compile that waits for memory can be cancelled, and its time limit begins at its start") {
  Scene scene(SourceAsOutput, {.slots = 3}, CompileMemory::kUnknownBytes);
  scene.compiler.Shut();
  scene.Join("runs");
  REQUIRE(scene.compiler.WaitUntilStarted(1));
  scene.Join("waits");
  const auto leaves = scene.Join("leaves");
  const auto waiting = [&] { return scene.flights->Gauges().memory.waiting; };
  REQUIRE(WaitUntil([&] { return waiting() == 2; }));
  scene.flights->Leave(leaves);
  CHECK(WaitUntil([&] { return waiting() == 1; }));
  CHECK(scene.compiler.started() == 1);
  const auto before = std::chrono::steady_clock::now();
  scene.compiler.Open();
  static_cast<void>(scene.Answer(1));
  const std::vector<CompileLimits> limits = scene.compiler.limits();
  REQUIRE(limits.size() == 2);
  CHECK(*limits[1].deadline >= before + limits[1].time);
  CHECK(scene.flights->Activity(kAlice).memory.limit_bytes == CompileMemory::kUnknownBytes);
}

TEST_CASE("a hit waits for no memory") {
  Scene scene(SourceAsOutput, {.slots = 2}, CompileMemory::kUnknownBytes);
  scene.compiler.Shut();
  scene.Join("runs");
  REQUIRE(scene.compiler.WaitUntilStarted(1));
  BuildPtr waiter = scene.Waits("a");
  scene.tier.Put(waiter->plan->key, testing::MakeArtifact("landed"));
  scene.Join(std::move(waiter));
  CHECK(scene.Answer(0).outcome == Outcome::kHit);
  scene.compiler.Open();
}

TEST_CASE("a result that was stored between look-up and join is a hit, without a compile") {
  Scene scene;
  BuildPtr waiter = scene.Waits("a");
  scene.tier.Put(waiter->plan->key, testing::MakeArtifact("landed"));
  scene.Join(std::move(waiter));
  CHECK(scene.Answer(0).outcome == Outcome::kHit);
  CHECK(scene.compiler.started() == 0);
}

TEST_CASE("the waiters' priority decides which flight is next") {
  std::mutex mutex;
  std::vector<std::string> order;
  Scene scene([&](const CompileJob& job, int call) {
    const std::lock_guard lock(mutex);
    order.push_back(std::get<cccl_cache::NvrtcProgram>(job.request->program).source);
    return SourceAsOutput(job, call);
  });
  const auto join = [&](const std::string& source, BuildPriority priority) {
    const auto request = MakeRequest(source);
    request->priority = priority;
    scene.Join(testing::MakeWaiter(scene.table, request, kAlice, scene.answers.Collect()));
  };
  scene.compiler.Shut();
  scene.Join("runs");
  REQUIRE(scene.compiler.WaitUntilStarted(1));
  join("warm-up", BuildPriority::kWarmUp);
  join("risen", BuildPriority::kWarmUp);
  join("normal", BuildPriority::kNormal);
  join("interactive", BuildPriority::kInteractive);
  join("risen", BuildPriority::kInteractive);
  scene.compiler.Open();
  CHECK(scene.answers.Wait(6).size() == 6);
  CHECK(order == std::vector<std::string>{"runs", "risen", "interactive", "normal", "warm-up"});
}

TEST_CASE("when a compile asks for files, the builds of other users start again") {
  Scene scene(AsksFor("/cccl-root-0/a.h"));
  scene.compiler.Shut();
  scene.Join("a");
  scene.Join("a", kBob);
  REQUIRE(scene.compiler.WaitUntilStarted(1));
  scene.compiler.Open();
  CHECK(scene.Answer(0).outcome == Outcome::kBuilt);
  std::vector<BuildPtr> again = scene.Again(1);
  REQUIRE(again.size() == 1);
  CHECK(again[0]->peer.uid == kBob.uid);
  CHECK(scene.memory.LooksOutside(*again[0]->plan));
  // From now on each user has its own flight.
  scene.compiler.Shut();
  scene.Join(scene.KnowsAll(std::move(again[0])));
  scene.Join(scene.KnowsAll(scene.Waits("a")));
  scene.compiler.Open();
  CHECK(scene.answers.Wait(3).size() == 3);
  CHECK(scene.compiler.started() == 3);
}

TEST_CASE("a compile frees its slot while its requester's disk hangs") {
  Scene scene(
      [](const CompileJob& job, int call) {
        if (job.requester == kAlice.uid) static_cast<void>(job.files->Ask("/cccl-root-0/a.h"));
        return SourceAsOutput(job, call);
      },
      {.slots = 1, .relief_slots = 0, .park_after = std::chrono::milliseconds(1)});
  scene.files.disk->Hang();
  scene.Join("a");
  REQUIRE(scene.compiler.WaitUntilStarted(1));
  scene.Join("b", kBob);
  CHECK(scene.Answer(0).outcome == Outcome::kBuilt);
  CHECK(WaitUntil([&] { return scene.flights->Gauges().in_flight == 1; }));
  scene.files.disk->Wake();
  CHECK(scene.Answer(1).outcome == Outcome::kBuilt);
}

TEST_CASE("a compile that waits for its requester is ended once others lack a slot") {
  Scene scene(
      [](const CompileJob& job, int call) {
        if (job.requester != kAlice.uid) return SourceAsOutput(job, call);
        static_cast<void>(job.files->Ask("/cccl-root-0/a.h"));
        return Result<CompileOutput>(Error{ErrorCode::kCancelled, "told to end"});
      },
      {.slots = 1,
       .relief_slots = 0,
       .relief_after = std::chrono::milliseconds(1),
       .parked_per_account = 0,
       .give_way_after = std::chrono::milliseconds(1)});
  scene.files.disk->Hang();
  scene.Join("a");
  REQUIRE(scene.compiler.WaitUntilStarted(1));
  scene.Join("b", kBob);
  REQUIRE(scene.compiler.WaitUntilToldToEnd(1));
  scene.files.disk->Wake();
  const auto answers = scene.answers.Wait(2);
  REQUIRE_FALSE(answers[0].ok());
  CHECK(answers[0].error().code == ErrorCode::kOverloaded);
  CHECK(answers[1]->outcome == Outcome::kBuilt);
}

TEST_CASE("a build that joined a compile with user files starts again, and counts as joined") {
  Scene scene(AsksFor("/cccl-root-0/a.h"));
  scene.compiler.Shut();
  scene.Join("a");
  REQUIRE(scene.compiler.WaitUntilStarted(1));
  scene.Join("a");
  scene.compiler.Open();
  // The second build's own files are checked before its answer.
  const std::vector<BuildPtr> again = scene.Again(1);
  REQUIRE(again.size() == 1);
  CHECK(again[0]->flight.outcome_if_cached == Outcome::kJoined);
  CHECK(scene.compiler.started() == 1);
}

TEST_CASE("a waiter starts again if another flight's result may answer it") {
  Scene scene;
  BuildPtr waiter = scene.Waits("a");
  // Its look-up found no closure.
  const auto nothing = std::make_shared<const Manifest>();
  waiter->findings.manifest = {nothing, nothing};
  Closure closure;
  closure.entries.push_back({{0, "a.h"}, FileKind::kAbsent, {}, 0});
  REQUIRE(scene.memory.Insert(waiter->plan->fingerprint, closure, testing::MakeArtifact("b")).ok());
  scene.Join(std::move(waiter));
  CHECK(scene.Again(1).size() == 1);
  CHECK(scene.compiler.started() == 0);
}

TEST_CASE("a stored result that reads only toolchain headers is a hit without a slot") {
  Scene scene;
  scene.compiler.Shut();
  scene.Join("runs");
  REQUIRE(scene.compiler.WaitUntilStarted(1));
  BuildPtr waiter = scene.Waits("a");
  Closure closure;
  closure.entries.push_back({{kToolchainRoot, "0/none.h"}, FileKind::kAbsent, {}, 0});
  REQUIRE(scene.memory.Insert(waiter->plan->fingerprint, closure, testing::MakeArtifact("b")).ok());
  scene.Join(std::move(waiter));
  const BuildAnswer answer = scene.Answer(0);
  CHECK(answer.outcome == Outcome::kHit);
  CHECK(answer.closed);
  scene.compiler.Open();
}

TEST_CASE("Close ends running compiles, and leaves present and later builds in the table") {
  Scene scene;
  scene.compiler.Shut();
  scene.Join("runs");
  REQUIRE(scene.compiler.WaitUntilStarted(1));
  scene.Join("waits");
  scene.flights->Close();
  CHECK(scene.compiler.started() == 1);
  CHECK(scene.flights->Gauges().in_flight == 0);
  scene.Join("comes later");
  CHECK(scene.compiler.started() == 1);
}

}  // namespace
}  // namespace cccl_cache::daemon::flights_test
