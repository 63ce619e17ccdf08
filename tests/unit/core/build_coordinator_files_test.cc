// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <string>

#include "daemon/core/build_coordinator.h"
#include "tests/unit/core/coordinator_bench.h"

namespace cccl_cached {
namespace {

using testing::Answers;
using testing::CoordinatorBench;
using testing::kAlice;
using testing::kOwner;
using testing::MakeRequest;
using testing::MakeToolchain;
using testing::Succeed;

Result<CompileOutput> LooksOutside(const CompileJob& job, int) {
  CompileOutput output = Succeed("from " + job.working_directory);
  const auto answer =
      job.outside_files_allowed ? OutsideFile::Answer::kGiven : OutsideFile::Answer::kDenied;
  output.outside.push_back({job.working_directory + "/local.h", answer});
  return output;
}

TEST_CASE("a build of the daemon's own uid that was given a file from outside is not kept") {
  CoordinatorBench bench(LooksOutside);
  const BuildAnswer answer = bench.BuildOne("a", kOwner);
  CHECK(answer.outcome == Outcome::kUncacheable);
  CHECK(answer.reason.find("/home/someone/local.h") != std::string::npos);
  CHECK(bench.BuildOne("a", kOwner).outcome == Outcome::kUncacheable);
  CHECK(bench.disk.size() == 0);
}

TEST_CASE("another uid's build that asks for a file from outside is told so") {
  CoordinatorBench bench(LooksOutside);
  const auto answer = bench.Ask(MakeRequest("a"), kAlice);
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code == ErrorCode::kFilesNeeded);
  CHECK(answer.error().message.find("/home/someone/local.h") != std::string::npos);
}

TEST_CASE("a follower whose files lie elsewhere is not given what was made of the leader's") {
  CoordinatorBench bench(LooksOutside);
  bench.compiler.Shut();
  Answers here;
  Answers elsewhere;
  bench.coordinator->Build(MakeRequest("a"), kOwner, here.Collect());
  auto request = MakeRequest("a");
  request->working_directory = "/home/someone/else";
  bench.coordinator->Build(request, kOwner, elsewhere.Collect());
  REQUIRE(bench.compiler.WaitUntilStarted(1));
  bench.compiler.Open();
  const auto first = here.Wait(1);
  const auto second = elsewhere.Wait(1);
  REQUIRE(first.at(0).ok());
  REQUIRE(second.at(0).ok());
  CHECK(first[0]->artifact->parts[0].bytes == "from /home/someone");
  CHECK(second[0]->artifact->parts[0].bytes == "from /home/someone/else");
  CHECK(bench.compiler.started() == 2);
}

TEST_CASE("a build during which the toolchain changed is made again with the new one") {
  CoordinatorBench* the_bench = nullptr;
  CoordinatorBench bench([&](const CompileJob& job, int call) -> Result<CompileOutput> {
    if (call == 1) the_bench->toolchains.Replace(MakeToolchain("other"));
    return Succeed(job.toolchain->id.Hex());
  });
  the_bench = &bench;
  const BuildAnswer answer = bench.BuildOne("a");
  CHECK(answer.outcome == Outcome::kBuilt);
  CHECK(answer.artifact->parts[0].bytes == MakeToolchain("other")->id.Hex());
  CHECK(bench.compiler.started() == 2);
  CHECK(bench.disk.size() == 1);
}

TEST_CASE("a toolchain that changes under every compile is answered and not kept") {
  CoordinatorBench* the_bench = nullptr;
  CoordinatorBench bench([&](const CompileJob&, int call) -> Result<CompileOutput> {
    the_bench->toolchains.Replace(MakeToolchain(std::to_string(call)));
    return Succeed("x");
  });
  the_bench = &bench;
  CHECK(bench.BuildOne("a").outcome == Outcome::kUncacheable);
  CHECK(bench.disk.size() == 0);
}

TEST_CASE("who has started again too often is never given what was made of another's files") {
  CoordinatorBench* the_bench = nullptr;
  CoordinatorBench bench([&](const CompileJob& job, int call) -> Result<CompileOutput> {
    if (call <= 3) {
      the_bench->toolchains.Replace(MakeToolchain(std::to_string(call)));
      return Succeed("x");
    }
    return LooksOutside(job, call);
  });
  the_bench = &bench;
  auto elsewhere = MakeRequest("a");
  elsewhere->working_directory = "/home/someone/else";
  bench.compiler.Shut();
  Answers first;
  Answers second;
  bench.coordinator->Build(MakeRequest("a"), kOwner, first.Collect());
  bench.coordinator->Build(elsewhere, kOwner, second.Collect());
  bench.compiler.Open();
  const auto one = first.Wait(1).at(0);
  const auto other = second.Wait(1).at(0);
  REQUIRE(one.ok());
  CHECK(one->artifact->parts[0].bytes == "from /home/someone");
  if (other.ok()) {
    CHECK(other->artifact->parts[0].bytes == "from /home/someone/else");
  } else {
    CHECK(other.error().code == ErrorCode::kUnavailable);
  }
}

}  // namespace
}  // namespace cccl_cached
