// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/flight_runner.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
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

TEST_CASE("a preamble that waits to be parsed does not keep the request") {
  FakeToolchains toolchains;
  FakeCompiler compiler([](const CompileJob&, int) { return testing::Succeed("output"); });
  Statistics statistics;
  FakeFileAccess files;
  std::atomic<bool> idle{false};
  std::atomic<bool> parsed{false};
  compiler.SetPrecompilation(
      [&](const CompileJob& job) -> Result<std::shared_ptr<const Precompiled>> {
        parsed =
            std::get<cccl_cache::NvrtcProgram>(job.request->program).source == "#include <a>\n";
        return Error{ErrorCode::kUnavailable, "nothing is kept"};
      });
  PreamblePool preambles(compiler, statistics, {}, {}, [&] { return idle.load(); });
  FlightRunner runner({toolchains, compiler, files, statistics, &preambles}, {});
  std::shared_ptr<cccl_cache::BuildRequest> request = MakeRequest("#include <a>\nint x;");
  const std::weak_ptr<cccl_cache::BuildRequest> kept = request;
  {
    const Result<BuildPlan> plan = PlanBuild(std::move(request), MakeToolchain(), {.uid = 1000});
    REQUIRE(plan.ok());
    CHECK_FALSE(runner.Run(*plan, {}, {}).error);
  }
  CHECK(kept.expired());
  idle = true;
  const auto deadline = std::chrono::steady_clock::now() + testing::kPatience;
  while (statistics.Get(Counter::kPreambles) == 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  CHECK(parsed);
}

}  // namespace
}  // namespace cccl_cached
