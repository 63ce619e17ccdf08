// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/coordinator/responder.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "tests/unit/core/coordinator_bench.h"
#include "tests/unit/core/waiters.h"
#include "tests/unit/snapshot/fake_answered.h"

namespace cccl_cache::daemon::responder_test {
namespace {

using Catch::Matchers::Contains;
using std::chrono::microseconds;
using testing::kAlice;

/// A responder with its records, and what it told the last caller.
struct Scene {
  BuildPtr Waits() {
    auto plan = std::make_shared<BuildPlan>();
    plan->job.toolchain = testing::MakeToolchain();
    auto waiter = std::make_unique<Build>();
    waiter->ticket = table.Open();
    waiter->peer = kAlice;
    waiter->request = testing::MakeRequest("a");
    plan->job.request = waiter->request;
    waiter->plan = std::move(plan);
    waiter->done = [this](const Result<BuildAnswer>& answer) {
      noted_before_told = answered.Of(kAlice.uid).size();
      told = answer ? answer->request_id : answer.error().request_id;
    };
    return waiter;
  }
  static FlightResult Hit() {
    FlightResult flight_result;
    flight_result.tier = TierName::kMemory;
    flight_result.key = cccl_cache::Sha256("key");
    flight_result.output = testing::Succeed("output");
    return flight_result;
  }

  FlightTable table;
  Statistics statistics;
  BuildHistory history{1 << 20};
  testing::FakeAnswered answered;
  std::optional<size_t> noted_before_told;
  std::optional<uint64_t> told;    ///< the request id in the answer
  std::optional<uint64_t> logged;  ///< the request id in the log
  Responder responder{{table, statistics, history, &answered,
                       [this](const BuildRecord& record) { logged = record.request_id; }}};
};

TEST_CASE("an answer is recorded before the callback is called") {
  Scene scene;
  scene.responder.AnswerHit(scene.Waits(), Scene::Hit(), {});
  CHECK(scene.noted_before_told == 1);
  CHECK(scene.answered.Of(kAlice.uid).front().key == Scene::Hit().key);
}

TEST_CASE("an answer to a caller that has left is not recorded") {
  Scene scene;
  BuildPtr waiter = scene.Waits();
  scene.table.Leave(waiter->ticket);
  scene.responder.AnswerHit(std::move(waiter), Scene::Hit(), {});
  CHECK_FALSE(scene.noted_before_told);
  CHECK(scene.answered.Of(kAlice.uid).empty());
}

TEST_CASE("the caller and the log get the same request id, and each request gets its own") {
  Scene scene;
  scene.responder.AnswerHit(scene.Waits(), Scene::Hit(), {});
  const std::optional<uint64_t> first = scene.told;
  CHECK(first > uint64_t{0});
  CHECK(scene.logged == first);
  scene.responder.Answer(scene.Waits(), Stopping());
  CHECK(scene.told != first);
  CHECK(scene.logged == scene.told);
  // Neither the next id of this daemon nor the first id of another can be predicted.
  CHECK(scene.told != *first + 1);
  Scene restarted;
  restarted.responder.AnswerHit(restarted.Waits(), Scene::Hit(), {});
  CHECK(restarted.told != first);
}

/// The build that leads a flight, and a result that can be kept.
struct BuildAnswerScene {
  BuildAnswer Answer() const { return AnswerOf(waiter, flight_result); }

  Build waiter;
  FlightResult flight_result;

  BuildAnswerScene() {
    waiter.request = testing::MakeRequest("a");
    waiter.plan = testing::MakePlan(waiter.request);
    waiter.flight.leads = true;
    waiter.flight.joined = std::chrono::steady_clock::now();
    flight_result.started = waiter.flight.joined + microseconds(30);
    flight_result.compile_time = microseconds(7000);
    flight_result.output = testing::Succeed("output");
  }
};

Closure OneFile() {
  Closure closure;
  closure.entries.push_back({{1, "x.h"}, FileKind::kFile, cccl_cache::Sha256("x"), 0});
  return closure;
}

TEST_CASE("an answer names the build and the toolchain") {
  const BuildAnswerScene scene;
  CompileOutput output = testing::Succeed("output", "/cccl-root-0/kernel.cu: a warning");
  output.precompiled_headers = true;
  const BuildAnswer answer = AnswerOf(*scene.waiter.plan, output);
  CHECK(answer.outcome == Outcome::kBuilt);
  CHECK(answer.artifact == output.artifact);
  CHECK(answer.key == scene.waiter.plan->key);
  CHECK(answer.fingerprint == scene.waiter.plan->fingerprint);
  CHECK(answer.toolchain_id == testing::MakeToolchain()->id);
  CHECK(answer.toolchain_version == "13.0");
  CHECK(answer.log == "kernel.cu: a warning");
  CHECK(answer.precompiled_headers);
  CHECK(answer.reason.empty());
}

TEST_CASE("the answer to a failed compile has the compiler's result code") {
  const BuildAnswerScene scene;
  const BuildAnswer answer = AnswerOf(*scene.waiter.plan, testing::Fail("an error"));
  CHECK(answer.outcome == Outcome::kFailed);
  CHECK(answer.native_code == 6);
  CHECK(answer.reason == "the compiler answered NVRTC_ERROR_COMPILATION");
  CHECK(answer.log == "an error");
}

TEST_CASE("one waiter of a compile counts as built, the others as joined") {
  BuildAnswerScene scene;
  CHECK(scene.Answer().outcome == Outcome::kBuilt);
  CHECK(scene.Answer().compile_time == microseconds(7000));
  CHECK(scene.Answer().queue_time == microseconds(30));
  scene.waiter.flight.leads = false;
  CHECK(scene.Answer().outcome == Outcome::kJoined);
}

TEST_CASE("a caller that joined a running compile has no queue time") {
  BuildAnswerScene scene;
  scene.waiter.flight.joined = scene.flight_result.started + microseconds(1);
  CHECK(scene.Answer().queue_time == microseconds(0));
}

TEST_CASE("an uncacheable answer has the reason, for joined callers too") {
  BuildAnswerScene scene;
  scene.waiter.flight.leads = GENERATE(true, false);
  SECTION("the compile's own reason") {
    scene.flight_result.uncacheable_reason = "the output can hold the time";
    CHECK(scene.Answer().reason == "the output can hold the time");
  }
  SECTION("a change of the toolchain") {
    scene.flight_result.toolchain_changed = true;
    CHECK(scene.Answer().reason == "the toolchain changed on disk while this was compiled");
  }
  CHECK(scene.Answer().outcome == Outcome::kUncacheable);
  CHECK_FALSE(scene.Answer().closed);
}

TEST_CASE("a failed compile is a failure for every caller, whether it could be kept or not") {
  BuildAnswerScene scene;
  scene.waiter.flight.leads = GENERATE(true, false);
  scene.flight_result.output = testing::Fail("an error");
  scene.flight_result.uncacheable_reason = GENERATE("", "the output can hold the time");
  CHECK(scene.Answer().outcome == Outcome::kFailed);
  CHECK_THAT(scene.Answer().reason, Contains("the compiler answered"));
  CHECK_FALSE(scene.Answer().closed);
}

TEST_CASE("a result with a closure has the closure's key, and is not closed") {
  BuildAnswerScene scene;
  CHECK(scene.Answer().key == scene.waiter.plan->key);
  CHECK(scene.Answer().closed);
  scene.flight_result.closure = OneFile();
  CHECK(scene.Answer().key == KeyOf(scene.waiter.plan->fingerprint, OneFile()));
  CHECK_FALSE(scene.Answer().closed);
}

TEST_CASE("the errors for changing toolchains and hung files name the reason") {
  CHECK(KeepsChanging().code == ErrorCode::kUnavailable);
  CHECK_THAT(KeepsChanging().message, Contains("try again"));
  const Error hangs = FilesHang(std::chrono::milliseconds(1500));
  CHECK(hangs.code == ErrorCode::kTimedOut);
  CHECK_THAT(hangs.message, Contains("within 2 s") && Contains("does a file system hang"));
}

}  // namespace
}  // namespace cccl_cache::daemon::responder_test
