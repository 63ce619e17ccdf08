// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/flight_runner.h"

#include <catch2/catch.hpp>
#include <vector>

#include "tests/unit/core/fake_files.h"
#include "tests/unit/core/fakes.h"

namespace cccl_cached {
namespace {

using testing::FakeCompiler;
using testing::FakeFileAccess;
using testing::FakeToolchains;
using testing::MakeRequest;
using testing::MakeToolchain;

TEST_CASE("the try after a worker's death has only what is left of the flight's time") {
  FakeToolchains toolchains;
  FakeCompiler compiler([](const CompileJob&, int) -> Result<CompileOutput> {
    return Error{ErrorCode::kWorkerCrashed, "the compiler died by SIGSEGV"};
  });
  Statistics statistics;
  CompileLimits limits;
  limits.time = std::chrono::minutes(2);
  FakeFileAccess files;
  FlightRunner runner({toolchains, compiler, files, statistics}, limits);
  const Result<BuildPlan> plan = PlanBuild(MakeRequest("a"), MakeToolchain(), {});
  REQUIRE(plan.ok());
  const Landing landing = runner.Run(*plan, {}, {});
  const std::vector<CompileLimits> tries = compiler.limits();
  REQUIRE(tries.size() == 2);
  REQUIRE(tries[0].deadline.has_value());
  CHECK(*tries[0].deadline >= landing.started + limits.time);
  CHECK(tries[1].deadline == tries[0].deadline);
  CHECK(tries[1].time == limits.time);
}

}  // namespace
}  // namespace cccl_cached
