// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/run/idle_checks.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/wait_until.h"
#include "tests/unit/core/coordinator_bench.h"
#include "tests/unit/core/fake_files.h"
#include "tests/unit/core/fakes.h"

namespace cccl_cache::daemon::idle_checks_test {
namespace {

using cccl_cache::ArtifactKind;
using testing::CoordinatorBench;
using testing::Fail;
using testing::FakeCompiler;
using testing::FakeFileAccess;
using testing::FakePrecompiled;
using testing::FakeToolchains;
using testing::kPatience;
using testing::MakeRequest;
using testing::MakeToolchain;
using testing::SourceAsOutput;
using testing::Succeed;

TEST_CASE("an idle job waits until a slot is free") {
  std::atomic<size_t> busy{2};
  std::atomic<size_t> was_busy{2};
  std::promise<void> asked;
  std::atomic<bool> told{false};
  std::promise<void> done;
  IdleJobs jobs({.slots = 2}, [&] {
    if (!told.exchange(true)) asked.set_value();
    return busy.load();
  });
  jobs.Add(Account(1), 0, [&](std::stop_token) {
    was_busy = busy.load();
    done.set_value();
  });
  REQUIRE(asked.get_future().wait_for(kPatience) == std::future_status::ready);
  busy = 1;
  REQUIRE(done.get_future().wait_for(kPatience) == std::future_status::ready);
  CHECK(was_busy == 1);
}

TEST_CASE("an idle job that delays a caller is stopped, and runs again once a slot is free") {
  std::atomic<size_t> busy{0};
  std::promise<void> started;
  std::promise<void> done;
  std::atomic<int> runs{0};
  IdleJobs jobs({.slots = 2}, [&] { return busy.load(); });
  jobs.Add(Account(1), 0, [&](const std::stop_token& stop) {
    if (++runs > 1) return done.set_value();
    started.set_value();
    while (!stop.stop_requested()) std::this_thread::yield();
    busy = 0;
  });
  REQUIRE(started.get_future().wait_for(kPatience) == std::future_status::ready);
  busy = 1;
  jobs.MakeRoom();  // a slot is free
  CHECK(runs == 1);
  busy = 2;
  jobs.MakeRoom();
  REQUIRE(done.get_future().wait_for(kPatience) == std::future_status::ready);
  CHECK(runs == 2);
}

/// Idle jobs that wait until the first one ends, in Finish().
struct Line {
  explicit Line(const IdleJobs::Bounds& bounds) : jobs(bounds, [] { return size_t{0}; }) {
    jobs.Add(Account(0), 0, [this](std::stop_token) {
      started.set_value();
      go.get_future().wait();
    });
    REQUIRE(started.get_future().wait_for(kPatience) == std::future_status::ready);
  }
  void Add(uid_t uid, size_t bytes) {
    jobs.Add(Account(uid), bytes, [this, uid](std::stop_token) { served.push_back(uid); });
  }
  /// Ends the first job. Returns the users in the order of their jobs, after each had `turns`
  /// turns.
  std::vector<uid_t> Finish(int turns) {
    AddLast(turns);
    go.set_value();
    std::future<std::vector<uid_t>> result = last.get_future();
    REQUIRE(result.wait_for(kPatience) == std::future_status::ready);
    return result.get();
  }
  void AddLast(int turns) {
    jobs.Add(Account(99), 0, [this, turns](std::stop_token) {
      if (turns > 1) return AddLast(turns - 1);
      last.set_value(served);
    });
  }

  std::promise<void> started;
  std::promise<void> go;
  std::promise<std::vector<uid_t>> last;
  std::vector<uid_t> served;  // used on the jobs' thread
  IdleJobs jobs;
};

TEST_CASE("users take turns with their idle jobs") {
  Line line({});
  for (const uid_t uid : {1, 1, 2}) line.Add(uid, 0);
  CHECK(line.jobs.size() == 4);  // one of them runs
  CHECK(line.Finish(2) == std::vector<uid_t>{1, 2, 1});
}

TEST_CASE("a user's idle jobs are bounded in number and bytes, independent of others") {
  Line line({.waiting_per_uid = 2, .bytes_per_uid = 100, .waiting = 256});
  for (int i = 0; i < 3; ++i) line.Add(1, 0);
  line.Add(2, 101);
  line.Add(3, 60);
  line.Add(3, 60);
  line.Add(4, 100);
  CHECK(line.Finish(4) == std::vector<uid_t>{1, 3, 4, 1});
}

TEST_CASE("idle jobs of containers take at most half of the queue") {
  Line line({.waiting_per_uid = 256, .bytes_per_uid = 100, .waiting = 16});
  for (uid_t i = 0; i < 16; ++i) line.Add(kFirstContainerUser + i, 0);
  line.Add(1, 0);
  CHECK(line.jobs.size() == 1 + 8 + 1);  // one of them runs
  CHECK(line.Finish(2).size() == 8 + 1);
}

TEST_CASE("the end of IdleJobs stops the running job and drops the waiting jobs") {
  std::promise<void> started;
  std::atomic<int> ran{0};
  {
    IdleJobs jobs({}, [] { return size_t{0}; });
    jobs.Add(Account(1), 0, [&](const std::stop_token& stop) {
      ++ran;
      started.set_value();
      while (!stop.stop_requested()) std::this_thread::yield();
    });
    jobs.Add(Account(1), 0, [&](std::stop_token) { ++ran; });
    REQUIRE(started.get_future().wait_for(kPatience) == std::future_status::ready);
  }
  CHECK(ran == 1);
}

TEST_CASE("a hit is kept if its shadow check gives the same result") {
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

TEST_CASE("a hit is dropped and reported with both digests if its shadow check differs") {
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

TEST_CASE("a shadow check uses no precompiled headers even if there are some") {
  std::vector<bool> precompiled;
  CoordinatorBench bench(
      [&](const CompileJob& job, int call) -> Result<CompileOutput> {
        if (call > 2) precompiled.push_back(job.precompiled != nullptr);
        return Succeed("output");
      },
      {.shadow_check_every = 1});
  std::mutex held;
  bench.compiler.SetPrecompilation(
      [&](const CompileJob&) -> Result<std::shared_ptr<const Precompiled>> {
        const std::lock_guard lock(held);
        return std::shared_ptr<const Precompiled>(std::make_shared<FakePrecompiled>(10));
      });
  const std::string includes = "#include \"local.h\"\n";
  {
    const std::lock_guard lock(held);
    for (const char* rest : {"int first;", "int second;"}) bench.BuildOne(includes + rest);
  }
  REQUIRE(WaitUntil([&] { return bench.Count(Counter::kPreambles) == 1; }));
  CHECK(bench.BuildOne(includes + "int b;").precompiled_headers);
  CHECK(bench.BuildOne(includes + "int b;").outcome == Outcome::kHit);
  REQUIRE(bench.compiler.WaitUntilEnded(4));
  bench.Stop();
  CHECK(precompiled == std::vector{true, false});
  CHECK(bench.Count(Counter::kShadowChecks) == 1);
}

/// A compiler whose LTO-IR differs with and without a preamble.
struct LtoIrScene {
  /// Compiles two programs with the same includes, and requests the second one again. Returns after
  /// that hit was checked.
  void Check() {
    static constexpr int kJobs = 2 + 2 + 1;  // two programs, each with its PTX, and the check
    for (const char* rest : {"int first;", "int second;"}) {
      REQUIRE(Ask(rest).precompiled_headers == (precompiles && rest == std::string("int second;")));
      REQUIRE(WaitUntil([&] { return bench.Count(Counter::kPreambles) == 1; }));
    }
    if (!links) {
      auto other = std::make_shared<Toolchain>(*MakeToolchain());
      other->nvjitlink.reset();
      bench.toolchains.Replace(std::move(other));
    }
    CHECK(Ask("int second;").outcome == Outcome::kHit);
    REQUIRE(bench.compiler.WaitUntilEnded(kJobs + (precompiles && links ? 2 : 0)));
    bench.Stop();
    CHECK(bench.Count(Counter::kShadowChecks) == 1);
  }
  BuildAnswer Ask(const std::string& rest) {
    auto request = MakeRequest("#include \"local.h\"\n" + rest);
    std::get<cccl_cache::NvrtcProgram>(request->program).options = {"-arch=sm_90a", "-dlto"};
    const auto answer = bench.Ask(std::move(request));
    REQUIRE(answer.ok());
    return *answer;
  }
  Result<CompileOutput> Link(const CompileJob& job) const {
    const auto& link = std::get<cccl_cache::LinkProgram>(job.request->program);
    CHECK(job.options == std::vector<std::string>{"-lto", "-ptx", "-arch=sm_90a"});
    CHECK(job.background);
    return link.inputs.at(0).contents == "spared" ? of_spared : Of(ArtifactKind::kPtx, "ptx");
  }
  Result<CompileOutput> Compile(const CompileJob& job, int call) {
    if (job.request->kind() == cccl_cache::BuildKind::kLink) return Link(job);
    if (const auto header = job.files->Ask("/cccl-root-0/local.h"); !header) return header.error();
    if (std::ranges::count(job.options, "--dlink-time-opt") == 0) {
      return Of(ArtifactKind::kPtx, "ptx");
    }
    if (job.precompiled != nullptr) return Of(ArtifactKind::kLtoIr, "spared");
    return Of(ArtifactKind::kLtoIr, precompiles ? "whole" : std::to_string(call));
  }
  static CompileOutput Of(ArtifactKind kind, const std::string& bytes) {
    auto artifact = std::make_shared<Artifact>();
    artifact->parts = {{kind, bytes, cccl_cache::Sha256(bytes)}};
    CompileOutput output;
    output.succeeded = true;
    output.artifact = std::move(artifact);
    return output;
  }

  explicit LtoIrScene(bool with_preambles = true) : precompiles(with_preambles) {
    bench.files.disk->Write("/home/someone/local.h", "void f() { assert(1); }");
    bench.compiler.SetPrecompilation(
        [this](const CompileJob& job) -> Result<std::shared_ptr<const Precompiled>> {
          if (!precompiles) return Error{ErrorCode::kUnavailable, "nothing is kept"};
          if (const auto header = job.files->Ask("/cccl-root-0/local.h"); !header) {
            return header.error();
          }
          return std::shared_ptr<const Precompiled>(std::make_shared<FakePrecompiled>(10));
        });
  }
  const bool precompiles;
  bool links = true;  ///< whether the hit's toolchain has nvJitLink
  Result<CompileOutput> of_spared =
      Of(ArtifactKind::kPtx, "ptx");  ///< the link's output for LTO-IR of a preamble
  CoordinatorBench bench{[this](const CompileJob& job, int call) { return Compile(job, call); },
                         {.shadow_check_every = 1}};
};

TEST_CASE("LTO-IR of a preamble is kept if it links to the same PTX as the whole program's") {
  LtoIrScene scene;
  scene.Check();
  CHECK(scene.bench.Count(Counter::kShadowMismatches) == 0);
}

TEST_CASE("LTO-IR of a preamble is not judged by a link that timed out") {
  LtoIrScene scene;
  scene.of_spared = Error{ErrorCode::kTimedOut, "above the limit"};
  scene.Check();
  CHECK(scene.bench.Count(Counter::kShadowMismatches) == 0);
}

TEST_CASE("LTO-IR of a preamble is not judged by a toolchain that has no nvJitLink") {
  LtoIrScene scene;
  scene.links = false;
  scene.of_spared = Fail("no library");
  scene.Check();
  CHECK(scene.bench.Count(Counter::kShadowMismatches) == 0);
}

TEST_CASE("LTO-IR of a preamble that links to other PTX, or to none, is dropped") {
  LtoIrScene scene;
  SECTION("other PTX") { scene.of_spared = LtoIrScene::Of(ArtifactKind::kPtx, "other"); }
  SECTION("no PTX") { scene.of_spared = Fail("refused"); }
  scene.Check();
  CHECK(scene.bench.Count(Counter::kShadowMismatches) == 1);
}

TEST_CASE("LTO-IR without a preamble is compared by its bytes, whatever it links to") {
  LtoIrScene scene(false);
  scene.Check();
  CHECK(scene.bench.Count(Counter::kShadowMismatches) == 1);
}

TEST_CASE("a hit of a compiler without a seed is not checked, because its bytes always differ") {
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

TEST_CASE("one of `shadow_check_every` hits is checked") {
  CoordinatorBench bench(SourceAsOutput, {.shadow_check_every = 3});
  bench.BuildOne("a");
  for (int i = 0; i < 2; ++i) CHECK(bench.BuildOne("a").outcome == Outcome::kHit);
  CHECK(bench.compiler.started() == 1);
  CHECK(bench.BuildOne("a").outcome == Outcome::kHit);
  CHECK(bench.compiler.WaitUntilStarted(2));
}

TEST_CASE("a shadow check does not judge an entry if a file changed meanwhile") {
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
}  // namespace cccl_cache::daemon::idle_checks_test
