// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/run/compile_runner.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/model/compiler.h"
#include "tests/support/wait_until.h"
#include "tests/unit/core/answering_caller.h"
#include "tests/unit/core/fake_files.h"
#include "tests/unit/core/fakes.h"
#include "tests/unit/core/waiters.h"

namespace cccl_cache::daemon::compile_runner_test {
namespace {

using testing::FakeCompiler;
using testing::FakeDisk;
using testing::FakeFileAccess;
using testing::FakeRequesterFiles;
using testing::FakeToolchains;
using testing::MakePlan;
using testing::MakeRequest;
using testing::MakeToolchain;

struct Bench {
  explicit Bench(FakeCompiler::Behaviour behaviour) : compiler(std::move(behaviour)) {}
  [[nodiscard]] CompileRunner::Parts parts() { return {toolchains, compiler, files, statistics}; }

  FakeToolchains toolchains;
  FakeCompiler compiler;
  FakeFileAccess files;
  Statistics statistics;
};

TEST_CASE("the retry after a worker crash has only the rest of the flight's time limit") {
  Bench bench([](const CompileJob&, int) -> Result<CompileOutput> {
    return Error{ErrorCode::kWorkerCrashed, "the compiler died by SIGSEGV"};
  });
  CompileLimits limits;
  limits.time = std::chrono::minutes(2);
  CompileRunner runner(bench.parts(), limits);
  const FlightResult flight_result = runner.Run(*MakePlan(MakeRequest("a")), {}, {});
  const std::vector<CompileLimits> tries = bench.compiler.limits();
  REQUIRE(tries.size() == 2);
  REQUIRE(tries[0].deadline.has_value());
  CHECK(*tries[0].deadline >= flight_result.started + limits.time);
  CHECK(tries[1].deadline == tries[0].deadline);
  CHECK(tries[1].time == limits.time);
}

TEST_CASE("a result is charged to the requester's account until the flight's result is destroyed") {
  std::weak_ptr<const int> taken;
  Bench bench([&](const CompileJob&, int) {
    Result<CompileOutput> output = testing::Succeed("output");
    const auto memory = std::make_shared<const int>();
    taken = memory;
    output->memory = memory;
    return output;
  });
  CompileRunner runner(bench.parts(), {});
  CompileOutput remembered;
  {
    const FlightResult flight_result = runner.Run(*MakePlan(MakeRequest("a")), {}, {});
    remembered = flight_result.output;
    CHECK_FALSE(taken.expired());
  }
  CHECK(remembered.artifact != nullptr);
  CHECK(taken.expired());
}

TEST_CASE("a compile updates its kind's estimate; a failed compile only raises it") {
  uint64_t needs = 3 * CompileMemory::kUnknownBytes;
  bool succeeds = true;
  Bench bench([&](const CompileJob& job, int) -> Result<CompileOutput> {
    *job.peak_bytes = std::max(*job.peak_bytes, needs);
    if (succeeds) return testing::Succeed("output");
    return Error{ErrorCode::kOutOfMemory, "the compiler ran out of memory"};
  });
  CompileMemory memory(0, bench.statistics);
  CompileRunner::Parts parts = bench.parts();
  parts.memory = &memory;
  CompileRunner runner(parts, {});
  const auto plan = MakePlan(MakeRequest("a"));
  const auto kind = CompileMemory::KindOf(plan->job, Peer{}.account());
  const auto run = [&] {
    const auto running = memory.TryStart(kind);
    return runner.Run(*plan, {.memory = running.get()}, {});
  };
  CHECK_FALSE(run().error);
  CHECK(memory.Expected(kind) == needs);
  succeeds = false;
  needs = 1;
  CHECK(run().error);
  CHECK(memory.Expected(kind) == 3 * CompileMemory::kUnknownBytes);
  needs = 4 * CompileMemory::kUnknownBytes;
  CHECK(run().error);
  CHECK(memory.Expected(kind) == needs);
}

TEST_CASE("the parse of a preamble waits for memory") {
  FakeCompiler compiler([](const CompileJob&, int) { return testing::Succeed("output"); });
  Statistics statistics;
  CompileMemory memory(CompileMemory::kUnknownBytes, statistics);
  std::atomic<bool> parsed{false};
  compiler.SetPrecompilation(
      [&](const CompileJob& job) -> Result<std::shared_ptr<const Precompiled>> {
        *job.peak_bytes = 1;
        parsed = true;
        return std::shared_ptr<const Precompiled>(std::make_shared<testing::FakePrecompiled>(1));
      });
  CompileJob job;
  job.toolchain = MakeToolchain();
  job.request = MakeRequest("#include <a>\n");
  job.account = Account(1001);
  const auto kind = CompileMemory::KindOf(job, job.account);
  auto running = memory.TryStart(kind);
  FakeFileAccess files;
  PreamblePool preambles(compiler, statistics, {}, {}, &memory);
  preambles.NoteMiss(cccl_cache::Sha256("a"), job.account, {});
  preambles.Want(cccl_cache::Sha256("a"), job.account, 1, [&] {
    const auto recorder = std::make_shared<ClosureRecorder>(
        files.Of({}, {}), ClosureRecorder::Names{}, ClosureRecorder::Events{});
    return PreamblePool::Order{job, recorder};
  });
  REQUIRE(WaitUntil([&] { return memory.activity().waiting == 1; }));
  CHECK_FALSE(parsed);
  running.reset();
  CHECK(WaitUntil([&] { return statistics.Get(Counter::kPreambles) == 1; }));
  CHECK(parsed);
  CHECK(memory.Expected(kind) == 1);
}

TEST_CASE("links and NVVM compiles get no access to files") {
  bool asks = true;
  Bench bench([&](const CompileJob& job, int) {
    asks = job.files != nullptr;
    return testing::Succeed("output");
  });
  CompileRunner runner(bench.parts(), {});
  const auto request = MakeRequest("");
  SECTION("nvJitLink") {
    request->program = cccl_cache::LinkProgram{};
    asks = true;
  }
  SECTION("libNVVM") { request->program = cccl_cache::NvvmProgram{}; }
  CHECK_FALSE(runner.Run(*MakePlan(request), {}, {}).error);
  CHECK_FALSE(asks);
}

TEST_CASE("a queued preamble does not keep the request in memory") {
  Bench bench([](const CompileJob&, int) { return testing::Succeed("output"); });
  std::promise<void> may_parse;
  std::atomic<bool> parsed{false};
  bench.compiler.SetPrecompilation(
      [&](const CompileJob& job) -> Result<std::shared_ptr<const Precompiled>> {
        may_parse.get_future().wait();
        parsed =
            std::get<cccl_cache::NvrtcProgram>(job.request->program).source == "#include <a>\n";
        return Error{ErrorCode::kUnavailable, "nothing is kept"};
      });
  PreamblePool preambles(bench.compiler, bench.statistics, {}, {});
  CompileRunner::Parts parts = bench.parts();
  parts.preambles = &preambles;
  CompileRunner runner(parts, {});
  std::shared_ptr<cccl_cache::BuildRequest> request = MakeRequest("#include <a>\nint x;");
  const std::weak_ptr<cccl_cache::BuildRequest> kept = request;
  {
    const auto plan = MakePlan(std::move(request), {.uid = 1000});
    for (int i = 0; i < 2; ++i) CHECK_FALSE(runner.Run(*plan, {}, {}).error);
  }
  CHECK(kept.expired());
  may_parse.set_value();
  REQUIRE(WaitUntil([&] { return bench.statistics.Get(Counter::kPreambles) > 0; }));
  CHECK(parsed);
}

TEST_CASE("sent files that a queued preamble keeps count toward its bytes") {
  const std::string name(2000, 'x');
  Bench bench([&](const CompileJob& job, int call) -> Result<CompileOutput> {
    if (call > 2) return testing::Succeed("output");
    const Result<FileAnswer> sent = job.files->Ask("/cccl-root-0/" + name);
    return sent ? Result<CompileOutput>(testing::Succeed("output")) : sent.error();
  });
  bench.files.disk->Refuse("/home/someone/" + name, {ErrorCode::kFilesNeeded, "closed"});
  testing::AnsweringCaller caller;
  std::promise<std::string> first_parsed;
  bench.compiler.SetPrecompilation(
      [&](const CompileJob& job) -> Result<std::shared_ptr<const Precompiled>> {
        first_parsed.set_value(std::get<cccl_cache::NvrtcProgram>(job.request->program).source);
        return Error{ErrorCode::kUnavailable, "nothing is kept"};
      });
  PreamblePool preambles(bench.compiler, bench.statistics, {}, {.wanted_bytes_per_uid = 2000});
  CompileRunner::Parts parts = bench.parts();
  parts.preambles = &preambles;
  parts.sent_contents = caller.sent;
  CompileRunner runner(parts, {});
  const std::string a = "#include <a>\n";
  const std::string b = "#include <b>\n";
  for (const std::string& begin : {a, a, b, b}) {
    const auto request = MakeRequest(begin + "int x;");
    request->files_view = cccl_cache::FilesView{7, 1, 2};
    const FlightResult flight_result =
        runner.Run(*MakePlan(request, {.uid = 1000}),
                   {.caller = {Peer{1000, 1000, {}, 1}, caller.exchange}}, {});
    CHECK_FALSE(flight_result.error);
  }
  CHECK(first_parsed.get_future().get() == b);
}

constexpr Account kUser(1);

std::shared_ptr<ClosureRecorder> RecorderOver(const std::shared_ptr<FakeDisk>& disk) {
  return std::make_shared<ClosureRecorder>(
      std::make_unique<FakeRequesterFiles>(disk, RootDirectories{{"/include"}, "/work"}),
      ClosureRecorder::Names{{{"/cccl-root-0", 0}}}, ClosureRecorder::Events{});
}

/// Returns a preamble whose parse read a.h.
ParsedPreamblePtr Parsed(const std::shared_ptr<FakeDisk>& disk) {
  const auto recorder = RecorderOver(disk);
  REQUIRE(recorder->Ask("/cccl-root-0/a.h").ok());
  return std::make_shared<ParsedPreamble>(ParsedPreamble{nullptr, recorder->Finish()});
}

struct Scene {
  Scene() { disk->Write("/include/a.h", "a"); }
  ~Scene() { disk->Wake(); }

  const std::shared_ptr<FakeDisk> disk = std::make_shared<FakeDisk>();
};

TEST_CASE("a preamble is adopted only if its files are unchanged") {
  Scene scene;
  const ParsedPreamblePtr parsed = Parsed(scene.disk);
  BlockingPool checks({});
  const auto same = RevalidateClosure(checks, kUser, RecorderOver(scene.disk), parsed, {});
  REQUIRE(same);
  CHECK(**same);
  scene.disk->Write("/include/a.h", "b");
  const auto changed = RevalidateClosure(checks, kUser, RecorderOver(scene.disk), parsed, {});
  REQUIRE(changed);
  CHECK_FALSE(**changed);
}

TEST_CASE("a preamble without files is adopted even if the user's threads are busy") {
  Scene scene;
  BlockingPool checks({.threads = 0});
  const auto parsed = std::make_shared<ParsedPreamble>();
  const auto adopted = RevalidateClosure(checks, kUser, RecorderOver(scene.disk), parsed, {});
  REQUIRE(adopted);
  CHECK(**adopted);
}

TEST_CASE("a preamble is skipped if the disk hangs or the user's threads are busy") {
  Scene scene;
  const ParsedPreamblePtr parsed = Parsed(scene.disk);
  BlockingPool no_threads({.threads = 0});
  CHECK_FALSE(RevalidateClosure(no_threads, kUser, RecorderOver(scene.disk), parsed, {}));
  scene.disk->Hang();
  BlockingPool checks({});
  CHECK_FALSE(RevalidateClosure(checks, kUser, RecorderOver(scene.disk), parsed, {}));
}

}  // namespace
}  // namespace cccl_cache::daemon::compile_runner_test
