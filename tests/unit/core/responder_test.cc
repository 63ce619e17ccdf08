// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/build/responder.h"

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "tests/unit/core/coordinator_bench.h"
#include "tests/unit/snapshot/fake_answered.h"

namespace cccl_cache::daemon {
namespace {

using testing::kAlice;

/// Answers of hits and compiles, and what is noted of them.
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
    waiter->done = [this](const Result<BuildAnswer>&) {
      noted_before_told = answered.Of(kAlice.uid).size();
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
  Responder responder{{table, statistics, history, &answered, {}}};
};

TEST_CASE("what a user is told is noted before it is told") {
  Scene scene;
  scene.responder.AnswerHit(scene.Waits(), Scene::Hit(), {});
  CHECK(scene.noted_before_told == 1);
  CHECK(scene.answered.Of(kAlice.uid).front().key == Scene::Hit().key);
}

TEST_CASE("what a user left before it was told is not noted") {
  Scene scene;
  BuildPtr waiter = scene.Waits();
  scene.table.Leave(waiter->ticket);
  scene.responder.AnswerHit(std::move(waiter), Scene::Hit(), {});
  CHECK_FALSE(scene.noted_before_told);
  CHECK(scene.answered.Of(kAlice.uid).empty());
}

}  // namespace
}  // namespace cccl_cache::daemon
