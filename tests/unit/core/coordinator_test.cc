// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/coordinator/coordinator.h"

#include <catch2/catch.hpp>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "tests/unit/core/coordinator_bench.h"

namespace cccl_cache::daemon::coordinator_test {
namespace {

using testing::Answers;
using testing::CoordinatorBench;
using testing::kAlice;
using testing::kBob;
using testing::MakeRequest;
using testing::SourceAsOutput;
using testing::Succeed;

TEST_CASE("a build is compiled once and then answered from memory") {
  CoordinatorBench bench(SourceAsOutput);
  const BuildAnswer first = bench.BuildOne("a");
  const BuildAnswer second = bench.BuildOne("a", kBob);
  CHECK(first.outcome == Outcome::kBuilt);
  CHECK(second.outcome == Outcome::kHit);
  CHECK(second.tier == TierName::kMemory);
  CHECK(second.key == first.key);
  CHECK(second.artifact->parts[0].bytes == "a");
  CHECK(bench.compiler.started() == 1);
  CHECK(bench.Count(Counter::kHitsMemory) == 1);
  CHECK(bench.Count(Counter::kMisses) == 1);
}

TEST_CASE("a large request is planned on another thread, a small one on the caller's") {
  CoordinatorBench bench(SourceAsOutput);
  const auto answered_here = [&](size_t bytes) {
    const std::string source = "// " + std::string(bytes, '.') + "\n";
    bench.BuildOne(source);
    std::promise<std::thread::id> answered;
    bench.coordinator->Start(MakeRequest(source), kAlice, [&](Result<BuildAnswer> answer) {
      CHECK((answer.ok() && answer->outcome == Outcome::kHit));
      answered.set_value(std::this_thread::get_id());
    });
    return answered.get_future().get() == std::this_thread::get_id();
  };
  CHECK(answered_here(100));
  CHECK_FALSE(answered_here(1 << 20));
}

TEST_CASE("a hit on disk is copied to memory") {
  CoordinatorBench bench(SourceAsOutput, {.second_tier = TierName::kDisk});
  bench.BuildOne("a");
  bench.memory.Clear();
  CHECK(bench.BuildOne("a").tier == TierName::kDisk);
  CHECK(bench.BuildOne("a").tier == TierName::kMemory);
  CHECK(bench.compiler.started() == 1);
}

TEST_CASE("a build whose output can contain the time is compiled each time and never kept") {
  CoordinatorBench bench(SourceAsOutput);
  const std::string source = "const char* now = __TIME__;";
  const BuildAnswer first = bench.BuildOne(source);
  CHECK(first.outcome == Outcome::kUncacheable);
  CHECK(first.reason.find("__TIME__") != std::string::npos);
  CHECK(bench.BuildOne(source).outcome == Outcome::kUncacheable);
  CHECK(bench.compiler.started() == 2);
  CHECK(bench.disk.size() == 0);
}

TEST_CASE("a link with a canonical name in its output is not compiled again") {
  CoordinatorBench bench(
      [](const CompileJob&, int) -> Result<CompileOutput> { return Succeed("/cccl-root-0/k.cu"); });
  auto request = std::make_shared<cccl_cache::BuildRequest>();
  request->program = cccl_cache::LinkProgram{{{cccl_cache::LinkInputType::kPtx, "a", "b"}}, {}};
  CHECK(bench.Ask(request)->outcome == Outcome::kBuilt);
  CHECK(bench.compiler.started() == 1);
}

TEST_CASE("a program whose output shows canonical names is compiled again under the real paths") {
  CoordinatorBench bench([](const CompileJob& job, int) -> Result<CompileOutput> {
    return Succeed("built from " + job.program_name);
  });
  auto request = MakeRequest("a");
  std::get<cccl_cache::NvrtcProgram>(request->program).name = "/src/kernel.cu";
  const auto answer = bench.Ask(request);
  REQUIRE(answer.ok());
  CHECK(answer->artifact->parts[0].bytes == "built from /src/kernel.cu");
  CHECK(bench.compiler.started() == 2);
  CHECK(bench.Ask(request)->outcome == Outcome::kHit);
  CHECK(bench.compiler.started() == 2);
}

TEST_CASE("each program is compiled with its own seed") {
  CoordinatorBench bench([](const CompileJob& job, int) -> Result<CompileOutput> {
    return Succeed(job.options.front());
  });
  const std::string prefix = "-frandom-seed=";
  const std::string seed = bench.BuildOne("a").artifact->parts[0].bytes;
  CHECK(seed.starts_with(prefix));
  CHECK(seed.size() > prefix.size());
  CHECK(bench.BuildOne("b").artifact->parts[0].bytes != seed);
}

TEST_CASE("a refused option and an unknown toolchain are errors that are counted") {
  CoordinatorBench bench(SourceAsOutput);
  auto request = MakeRequest("a");
  std::get<cccl_cache::NvrtcProgram>(request->program).options.push_back("--time=/tmp/t");
  const auto refused = bench.Ask(request);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kInvalidRequest);
  CHECK(refused.error().message.find("--time") != std::string::npos);
  request = MakeRequest("a");
  request->toolchain.major = 99;
  CHECK(bench.Ask(request).error().code == ErrorCode::kToolchainNotFound);
  CHECK(bench.Count(Counter::kRefused) == 2);
  CHECK(bench.compiler.started() == 0);
}

TEST_CASE("a build waits without a thread while its toolchain is identified again") {
  CoordinatorBench bench(SourceAsOutput);
  Answers answers;
  bench.toolchains.NeedLooks(2);
  // Each call returns, although no toolchain is identified before the test allows it.
  for (const char* source : {"a", "b"}) {
    bench.coordinator->Start(MakeRequest(source), kAlice, answers.Collect());
  }
  CHECK(bench.toolchains.FinishLook() == 2);
  CHECK(answers.size() == 0);
  CHECK(bench.toolchains.FinishLook() == 2);
  for (const auto& answer : answers.Wait(2)) CHECK(answer->outcome == Outcome::kBuilt);
  CHECK(answers.size() == 2);
}

TEST_CASE("a build does not wait for ever for a toolchain that keeps changing") {
  CoordinatorBench bench(SourceAsOutput);
  Answers answers;
  bench.toolchains.NeedLooks(1000);
  bench.coordinator->Start(MakeRequest("a"), kAlice, answers.Collect());
  int looks = 0;
  while (answers.size() == 0 && bench.toolchains.FinishLook() > 0) ++looks;
  CHECK(looks < 10);
  REQUIRE(answers.size() == 1);
  CHECK(answers.Wait(1)[0].error().code == ErrorCode::kUnavailable);
}

TEST_CASE("a caller that leaves while its toolchain is identified is not answered") {
  CoordinatorBench bench(SourceAsOutput);
  Answers answers;
  bench.toolchains.NeedLooks(1);
  const auto ticket = bench.coordinator->Start(MakeRequest("a"), kAlice, answers.Collect());
  bench.coordinator->Leave(ticket);
  CHECK(bench.toolchains.FinishLook() == 1);
  CHECK(answers.size() == 0);
  CHECK(bench.compiler.started() == 0);
}

TEST_CASE("the end of the coordinator answers all waiters") {
  Answers answers;
  {
    CoordinatorBench bench(SourceAsOutput, {.slots = 1});
    bench.compiler.Shut();
    bench.coordinator->Start(MakeRequest("runs"), kAlice, answers.Collect());
    bench.coordinator->Start(MakeRequest("waits"), kAlice, answers.Collect());
    REQUIRE(bench.compiler.WaitUntilStarted(1));
  }
  const auto all = answers.Wait(2);
  REQUIRE(all.size() == 2);
  for (const auto& answer : all) CHECK_FALSE(answer.ok());
}

}  // namespace
}  // namespace cccl_cache::daemon::coordinator_test
