// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/build_coordinator.h"

#include <catch2/catch.hpp>
#include <set>
#include <thread>

#include "tests/unit/core/fakes.h"

namespace cccl_cached {
namespace {

using testing::Answers;
using testing::Fail;
using testing::FakeCompiler;
using testing::FakeToolchains;
using testing::MakeRequest;
using testing::MakeToolchain;
using testing::MapTier;
using testing::Succeed;

constexpr uid_t kOwnUid = 900;
const Peer kAlice{1000, 1000, {}, 1};
const Peer kBob{1001, 1001, {}, 2};
const Peer kOwner{kOwnUid, 900, {}, 3};

// A coordinator over stand-ins, torn down before them.
struct Bench {
  explicit Bench(FakeCompiler::Behaviour behaviour, size_t slots = 2)
      : compiler(std::move(behaviour)) {
    BuildLimits limits;
    limits.slots = slots;
    limits.queued_per_uid = 4;
    coordinator = std::make_unique<BuildCoordinator>(
        BuildCoordinator::Parts{toolchains, compiler, {&memory, &disk}, statistics, {}}, kOwnUid,
        limits);
  }

  BuildAnswer BuildOne(const std::string& source, const Peer& peer = kAlice) {
    const Result<BuildAnswer> answer = Ask(MakeRequest(source), peer);
    INFO((answer.ok() ? "" : answer.error().message));
    REQUIRE(answer.ok());
    return *answer;
  }
  Result<BuildAnswer> Ask(std::shared_ptr<cccl_cache::BuildRequest> request,
                          const Peer& peer = kAlice) {
    Answers answers;
    coordinator->Build(std::move(request), peer, answers.Collect());
    return answers.Wait(1).at(0);
  }
  uint64_t Count(Counter counter) const { return statistics.Get(counter); }

  FakeToolchains toolchains;
  FakeCompiler compiler;
  MapTier memory{TierName::kMemory};
  MapTier disk{TierName::kDisk};
  Statistics statistics;
  std::unique_ptr<BuildCoordinator> coordinator;
};

Result<CompileOutput> SourceAsOutput(const CompileJob& job, int) {
  return Succeed(std::get<cccl_cache::NvrtcProgram>(job.request->program).source);
}

TEST_CASE("a build is compiled once and then answered from memory") {
  Bench bench(SourceAsOutput);
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

TEST_CASE("a hit on disk moves up into memory") {
  Bench bench(SourceAsOutput);
  bench.BuildOne("a");
  bench.memory.Clear();
  CHECK(bench.BuildOne("a").tier == TierName::kDisk);
  CHECK(bench.BuildOne("a").tier == TierName::kMemory);
  CHECK(bench.compiler.started() == 1);
}

TEST_CASE("one_compile_for_many_callers: 1,000 callers in one process") {
  Bench bench(SourceAsOutput);
  bench.compiler.Shut();
  Answers answers;
  std::vector<std::thread> callers;
  for (int thread = 0; thread < 10; ++thread) {
    callers.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        bench.coordinator->Build(MakeRequest("same"), kAlice, answers.Collect());
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

TEST_CASE("last_waiter_cancels: the last waiter that leaves ends the compile") {
  Bench bench(SourceAsOutput);
  bench.compiler.Shut();
  Answers answers;
  const auto first = bench.coordinator->Build(MakeRequest("a"), kAlice, answers.Collect());
  const auto second = bench.coordinator->Build(MakeRequest("a"), kBob, answers.Collect());
  REQUIRE(bench.compiler.WaitUntilStarted(1));
  bench.coordinator->Leave(first);
  bench.coordinator->Leave(second);
  REQUIRE(bench.compiler.WaitUntilCancelled(1));
  bench.compiler.Open();
  CHECK(bench.BuildOne("a").outcome == Outcome::kBuilt);
  CHECK(answers.size() == 0);
  CHECK(bench.Count(Counter::kCancelled) == 1);
}

TEST_CASE("leader_leaves: those who wait get the result of the compile that it began") {
  Bench bench(SourceAsOutput);
  bench.compiler.Shut();
  Answers of_leader;
  Answers of_follower;
  const auto leader = bench.coordinator->Build(MakeRequest("a"), kAlice, of_leader.Collect());
  bench.coordinator->Build(MakeRequest("a"), kBob, of_follower.Collect());
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

TEST_CASE("a waiter that leaves a queue takes its flight out of it") {
  Bench bench(SourceAsOutput, 1);
  bench.compiler.Shut();
  Answers answers;
  bench.coordinator->Build(MakeRequest("runs"), kAlice, answers.Collect());
  REQUIRE(bench.compiler.WaitUntilStarted(1));
  const auto queued = bench.coordinator->Build(MakeRequest("waits"), kAlice, answers.Collect());
  CHECK(bench.coordinator->Gauges().queued == 1);
  bench.coordinator->Leave(queued);
  CHECK(bench.coordinator->Gauges().queued == 0);
  bench.compiler.Open();
  CHECK(answers.Wait(1).size() == 1);
  CHECK(bench.compiler.started() == 1);
}

TEST_CASE("a full line is refused with a hint, and hits are still answered") {
  Bench bench(SourceAsOutput, 1);
  bench.BuildOne("hit");
  bench.compiler.Shut();
  Answers answers;
  bench.coordinator->Build(MakeRequest("runs"), kAlice, answers.Collect());
  REQUIRE(bench.compiler.WaitUntilStarted(2));
  for (int i = 0; i < 4; ++i) {
    bench.coordinator->Build(MakeRequest(std::to_string(i)), kAlice, answers.Collect());
  }
  const auto refused = bench.Ask(MakeRequest("one too many"));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kOverloaded);
  CHECK(refused.error().retry_after.count() > 0);
  CHECK(bench.BuildOne("hit").outcome == Outcome::kHit);
  bench.compiler.Open();
  CHECK(answers.Wait(5).size() == 5);
}

TEST_CASE("a compile failure is an answer, remembered and not tried again") {
  Bench bench([](const CompileJob& job, int) -> Result<CompileOutput> {
    return Fail(job.program_name + "(1): error: no");
  });
  const BuildAnswer first = bench.BuildOne("a");
  const BuildAnswer second = bench.BuildOne("a");
  CHECK(first.outcome == Outcome::kFailed);
  CHECK_FALSE(first.remembered);
  CHECK(first.log == "kernel.cu(1): error: no");
  CHECK(first.native_code == 6);
  CHECK(second.outcome == Outcome::kFailed);
  CHECK(second.remembered);
  CHECK(second.log == first.log);
  CHECK(bench.compiler.started() == 1);
  CHECK(bench.disk.size() == 0);
}

TEST_CASE(
    "a worker that dies once is tried again; one that dies twice quarantines its uid's input") {
  const auto crash = [](const CompileJob&, int call) -> Result<CompileOutput> {
    if (call != 2) return Error{ErrorCode::kWorkerCrashed, "the compiler died by SIGSEGV"};
    return Succeed("second try");
  };
  SECTION("once") {
    Bench bench(crash);
    CHECK(bench.BuildOne("a").artifact->parts[0].bytes == "second try");
    CHECK(bench.Count(Counter::kRetries) == 1);
    CHECK(bench.Count(Counter::kCompiles) == 1);
  }
  SECTION("twice") {
    Bench bench([](const CompileJob&, int) -> Result<CompileOutput> {
      return Error{ErrorCode::kWorkerCrashed, "the compiler died by SIGSEGV"};
    });
    CHECK(bench.Ask(MakeRequest("a")).error().code == ErrorCode::kWorkerCrashed);
    CHECK(bench.Ask(MakeRequest("a")).error().code == ErrorCode::kWorkerCrashed);
    CHECK(bench.compiler.started() == 2);
    CHECK_FALSE(bench.Ask(MakeRequest("a"), kBob).ok());
    CHECK(bench.compiler.started() == 4);
  }
}

TEST_CASE("time and memory that ran out are never remembered as the input's fault") {
  const ErrorCode code = GENERATE(ErrorCode::kTimedOut, ErrorCode::kOutOfMemory);
  Bench bench([code](const CompileJob&, int call) -> Result<CompileOutput> {
    if (call == 1) return Error{code, "too much"};
    return Succeed("now it fits");
  });
  CHECK(bench.Ask(MakeRequest("a")).error().code == code);
  CHECK(bench.BuildOne("a").outcome == Outcome::kBuilt);
}

TEST_CASE("output that can hold the time is compiled each time and never kept") {
  Bench bench(SourceAsOutput);
  const std::string source = "const char* now = __TIME__;";
  const BuildAnswer first = bench.BuildOne(source);
  CHECK(first.outcome == Outcome::kUncacheable);
  CHECK(first.reason.find("__TIME__") != std::string::npos);
  CHECK(bench.BuildOne(source).outcome == Outcome::kUncacheable);
  CHECK(bench.compiler.started() == 2);
  CHECK(bench.disk.size() == 0);
}

TEST_CASE("who asks for an uncacheable build after its compile began gets a compile of its own") {
  Bench bench(SourceAsOutput);
  bench.compiler.Shut();
  Answers answers;
  bench.coordinator->Build(MakeRequest("__DATE__"), kAlice, answers.Collect());
  REQUIRE(bench.compiler.WaitUntilStarted(1));
  bench.coordinator->Build(MakeRequest("__DATE__"), kAlice, answers.Collect());
  REQUIRE(bench.compiler.WaitUntilStarted(2));
  bench.compiler.Open();
  CHECK(answers.Wait(2).size() == 2);
}

Result<CompileOutput> LooksOutside(const CompileJob& job, int) {
  CompileOutput output = Succeed("from " + job.working_directory);
  const auto answer =
      job.outside_files_allowed ? OutsideFile::Answer::kGiven : OutsideFile::Answer::kDenied;
  output.outside.push_back({job.working_directory + "/local.h", answer});
  return output;
}

TEST_CASE("a build of the daemon's own uid that was given a file from outside is not kept") {
  Bench bench(LooksOutside);
  const BuildAnswer answer = bench.BuildOne("a", kOwner);
  CHECK(answer.outcome == Outcome::kUncacheable);
  CHECK(answer.reason.find("/home/someone/local.h") != std::string::npos);
  CHECK(bench.BuildOne("a", kOwner).outcome == Outcome::kUncacheable);
  CHECK(bench.disk.size() == 0);
}

TEST_CASE("another uid's build that asks for a file from outside is told so") {
  Bench bench(LooksOutside);
  const auto answer = bench.Ask(MakeRequest("a"), kAlice);
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code == ErrorCode::kFilesNeeded);
  CHECK(answer.error().message.find("/home/someone/local.h") != std::string::npos);
}

TEST_CASE("a follower whose files lie elsewhere is not given what was made of the leader's") {
  Bench bench(LooksOutside);
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
  Bench* the_bench = nullptr;
  Bench bench([&](const CompileJob& job, int call) -> Result<CompileOutput> {
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
  Bench* the_bench = nullptr;
  Bench bench([&](const CompileJob&, int call) -> Result<CompileOutput> {
    the_bench->toolchains.Replace(MakeToolchain(std::to_string(call)));
    return Succeed("x");
  });
  the_bench = &bench;
  CHECK(bench.BuildOne("a").outcome == Outcome::kUncacheable);
  CHECK(bench.disk.size() == 0);
}

TEST_CASE("who has started again too often is never given what was made of another's files") {
  Bench* the_bench = nullptr;
  Bench bench([&](const CompileJob& job, int call) -> Result<CompileOutput> {
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

TEST_CASE("a link whose output holds a canonical name is not compiled again") {
  Bench bench(
      [](const CompileJob&, int) -> Result<CompileOutput> { return Succeed("/cccl-root-0/k.cu"); });
  auto request = std::make_shared<cccl_cache::BuildRequest>();
  request->program = cccl_cache::LinkProgram{{{cccl_cache::LinkInputType::kPtx, "a", "b"}}, {}};
  CHECK(bench.Ask(request)->outcome == Outcome::kBuilt);
  CHECK(bench.compiler.started() == 1);
}

TEST_CASE("an output that shows canonical names is compiled again under the real paths") {
  Bench bench([](const CompileJob& job, int) -> Result<CompileOutput> {
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

TEST_CASE("a refused option and an unknown toolchain are errors that are counted") {
  Bench bench(SourceAsOutput);
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

TEST_CASE("stopping answers everybody who waits") {
  Answers answers;
  {
    Bench bench(SourceAsOutput, 1);
    bench.compiler.Shut();
    bench.coordinator->Build(MakeRequest("runs"), kAlice, answers.Collect());
    bench.coordinator->Build(MakeRequest("waits"), kAlice, answers.Collect());
    REQUIRE(bench.compiler.WaitUntilStarted(1));
  }
  const auto all = answers.Wait(2);
  REQUIRE(all.size() == 2);
  for (const auto& answer : all) CHECK_FALSE(answer.ok());
}

}  // namespace
}  // namespace cccl_cached
