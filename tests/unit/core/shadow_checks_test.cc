// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "daemon/core/run/idle_checks.h"
#include "tests/unit/core/coordinator_bench.h"

namespace cccl_cache::daemon {
namespace {

using testing::CoordinatorBench;
using testing::Fail;
using testing::FakePrecompiled;
using testing::MakeToolchain;
using testing::SourceAsOutput;
using testing::Succeed;

bool WaitFor(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + testing::kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST_CASE("a hit that its compiler makes again is kept") {
  std::vector<bool> in_background;
  CoordinatorBench bench(
      [&](const CompileJob& job, int call) {
        in_background.push_back(job.background);
        return SourceAsOutput(job, call);
      },
      {.shadow_check_every = 1});
  bench.BuildOne("a");
  bench.compiler.Shut();
  CHECK(bench.BuildOne("a").outcome == Outcome::kHit);
  REQUIRE(bench.compiler.WaitUntilStarted(2));
  bench.compiler.Open();
  REQUIRE(bench.compiler.WaitUntilEnded(2));
  bench.Stop();
  CHECK(in_background == std::vector{false, true});
  CHECK(bench.Count(Counter::kShadowChecks) == 1);
  CHECK(bench.Count(Counter::kShadowMismatches) == 0);
  CHECK(bench.Count(Counter::kCompiles) == 1);
  CHECK(bench.disk.size() == 1);
}

TEST_CASE("a hit that its compiler makes otherwise is dropped and reported with both digests") {
  CoordinatorBench bench(
      [](const CompileJob&, int call) -> Result<CompileOutput> {
        if (call == 3) return Fail("no longer");
        return Succeed(std::to_string(call));
      },
      {.shadow_check_every = 1});
  bench.BuildOne("a");
  CHECK(bench.BuildOne("a").outcome == Outcome::kHit);
  REQUIRE(bench.disk.WaitUntilEmpty());
  REQUIRE(bench.memory.WaitUntilEmpty());
  bench.Stop();
  CHECK(bench.Count(Counter::kShadowMismatches) == 1);
  CHECK(bench.reported.find(cccl_cache::Sha256("1").Hex()) != std::string::npos);
  CHECK(bench.reported.find(cccl_cache::Sha256("2").Hex()) != std::string::npos);
}

TEST_CASE("a hit is checked without precompiled headers, though there are some") {
  std::vector<bool> precompiled;
  CoordinatorBench bench(
      [&](const CompileJob& job, int) -> Result<CompileOutput> {
        precompiled.push_back(job.precompiled != nullptr);
        return Succeed("output");
      },
      {.shadow_check_every = 1});
  bench.compiler.SetPrecompilation(
      [](const CompileJob&) -> Result<std::shared_ptr<const Precompiled>> {
        return std::shared_ptr<const Precompiled>(std::make_shared<FakePrecompiled>(10));
      });
  const std::string includes = "#include \"local.h\"\n";
  bench.BuildOne(includes + "int a;");
  REQUIRE(WaitFor([&] { return bench.Count(Counter::kPreambles) == 1; }));
  CHECK(bench.BuildOne(includes + "int b;").precompiled_headers);
  CHECK(bench.BuildOne(includes + "int b;").outcome == Outcome::kHit);
  REQUIRE(bench.compiler.WaitUntilEnded(3));
  bench.Stop();
  CHECK(precompiled == std::vector{false, true, false});
  CHECK(bench.Count(Counter::kShadowChecks) == 1);
}

TEST_CASE("a hit of a compiler that takes no seed is not checked: its bytes differ each time") {
  CoordinatorBench bench(SourceAsOutput, {.shadow_check_every = 1});
  const bool takes_seed = GENERATE(false, true);
  auto toolchain = std::make_shared<Toolchain>(*MakeToolchain());
  toolchain->capabilities.random_seed = takes_seed;
  bench.toolchains.Replace(toolchain);
  bench.BuildOne("a");
  CHECK(bench.BuildOne("a").outcome == Outcome::kHit);
  if (takes_seed) CHECK(bench.compiler.WaitUntilStarted(2));
  bench.Stop();
  CHECK(bench.Count(Counter::kShadowChecks) == (takes_seed ? 1 : 0));
}

TEST_CASE("one hit of so many is checked") {
  CoordinatorBench bench(SourceAsOutput, {.shadow_check_every = 3});
  bench.BuildOne("a");
  for (int i = 0; i < 2; ++i) CHECK(bench.BuildOne("a").outcome == Outcome::kHit);
  CHECK(bench.compiler.started() == 1);
  CHECK(bench.BuildOne("a").outcome == Outcome::kHit);
  CHECK(bench.compiler.WaitUntilStarted(2));
}

TEST_CASE("an entry whose files have changed since is not judged by them") {
  CoordinatorBench bench(
      [](const CompileJob& job, int) -> Result<CompileOutput> {
        const auto answer = job.files->Ask("/cccl-root-0/x.h");
        return Succeed(answer.ok() && answer->contents ? *answer->contents : "nothing");
      },
      {.shadow_check_every = 1});
  bench.files.disk->Write("/home/someone/x.h", "one");
  bench.BuildOne("a");
  bench.compiler.Shut();
  CHECK(bench.BuildOne("a").outcome == Outcome::kHit);
  REQUIRE(bench.compiler.WaitUntilStarted(2));
  bench.files.disk->Write("/home/someone/x.h", "two");
  bench.compiler.Open();
  REQUIRE(bench.compiler.WaitUntilEnded(2));
  bench.Stop();
  CHECK(bench.Count(Counter::kShadowMismatches) == 0);
}

}  // namespace
}  // namespace cccl_cache::daemon
