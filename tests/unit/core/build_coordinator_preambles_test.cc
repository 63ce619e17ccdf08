// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "daemon/core/coordinator/coordinator.h"
#include "daemon/core/model/compiler.h"
#include "tests/support/wait_until.h"
#include "tests/unit/core/coordinator_bench.h"

namespace cccl_cache::daemon::build_coordinator_preambles_test {
namespace {

using cccl_cache::ArtifactKind;
using cccl_cache::NvrtcProgram;
using testing::Answers;
using testing::CoordinatorBench;
using testing::Fail;
using testing::FakePrecompiled;
using testing::kAlice;
using testing::kBob;
using testing::MakeRequest;
using testing::Succeed;

/// Asks for local.h beside the program, then in the directory of -I.
Result<FileAnswer> AskForHeader(const CompileJob& job) {
  Result<FileAnswer> header = job.files->Ask("/cccl-root-0/local.h");
  if (!header || header->kind != FileKind::kAbsent || job.mounts.size() < 2) return header;
  return job.files->Ask("/cccl-root-1/local.h");
}

const std::string kBegin = "#include \"local.h\"\n";

/// A coordinator with a fake compiler. A job asks for the header unless it uses a preamble.
class Scene {
 public:
  Scene() {
    bench.files.disk->Write("/home/someone/local.h", "one");
    bench.compiler.SetPrecompilation(
        [this](const CompileJob& job) -> Result<std::shared_ptr<const Precompiled>> {
          const std::lock_guard may_parse(held);
          if (const auto header = AskForHeader(job); !header) return header.error();
          const std::lock_guard lock(mutex);
          last = std::make_shared<FakePrecompiled>(10);
          return std::shared_ptr<const Precompiled>(last);
        });
  }

  BuildAnswer Build(const std::string& rest, const Peer& peer = kAlice) {
    return bench.BuildOne(kBegin + rest, peer);
  }
  /// Compiles two programs with this beginning, then waits until `count` preambles were parsed.
  bool Teach(uint64_t count = 1, const Peer& peer = kAlice, const std::string& begin = kBegin) {
    {
      const std::lock_guard not_before_both(held);
      for (int i = 0; i < 2; ++i) {
        const std::string rest = "int teach" + std::to_string(++taught) + ";";
        CHECK_FALSE(bench.BuildOne(begin + rest, peer).precompiled_headers);
      }
    }
    return WaitForPreambles(count);
  }
  bool WaitForPreambles(uint64_t count) {
    return WaitUntil([&] { return bench.Count(Counter::kPreambles) >= count; });
  }

  /// Makes the preamble that was parsed last useless.
  void SpoilLast() {
    const std::lock_guard lock(mutex);
    last->Spoil();
  }

  /// The result of a job that uses a preamble.
  std::function<Result<CompileOutput>()> spared = [] { return Succeed("output"); };
  std::function<void()> when_whole = [] {};  ///< called in each job without a preamble
  std::string spared_asks;                   ///< name that a job with a preamble asks for; empty:
                                             ///< none
  std::atomic<int> jobs_spared{0};
  int taught = 0;
  std::mutex held;  ///< while it is locked, no preamble is parsed
  std::mutex mutex;
  std::shared_ptr<FakePrecompiled> last;  // guarded by mutex
  CoordinatorBench bench{[this](const CompileJob& job, int) -> Result<CompileOutput> {
    if (job.precompiled != nullptr) {
      ++jobs_spared;
      if (!spared_asks.empty() && !job.files->Ask(spared_asks)) return Fail("no answer");
      return spared();
    }
    when_whole();
    if (const auto header = AskForHeader(job); !header) return header.error();
    return Succeed("output");
  }};
};

TEST_CASE("the third miss of a user with the same leading includes uses a preamble") {
  Scene scene;
  REQUIRE(scene.Teach());
  const BuildAnswer third = scene.Build("int b;");
  CHECK(third.outcome == Outcome::kBuilt);
  CHECK(third.precompiled_headers);
  CHECK(scene.bench.Count(Counter::kPchBuilds) == 1);
  CHECK(scene.bench.Count(Counter::kCompiles) == 3);
}

TEST_CASE("two concurrent compiles with the same includes request no preamble") {
  Scene scene;
  scene.when_whole = [&] { static_cast<void>(scene.bench.compiler.WaitUntilStarted(2)); };
  {
    const std::jthread other(
        [&] { static_cast<void>(scene.bench.Ask(MakeRequest(kBegin + "int a;"))); });
    scene.Build("int b;");
  }
  // Preambles are parsed one at a time, in the order of the requests.
  REQUIRE(scene.Teach(1, kAlice, kBegin + kBegin));
  CHECK(scene.bench.BuildOne(kBegin + kBegin + "int c;").precompiled_headers);
  CHECK(scene.bench.Count(Counter::kPreambles) == 1);
}

TEST_CASE("a build with a preamble is a hit while its headers are unchanged") {
  Scene scene;
  REQUIRE(scene.Teach());
  const BuildAnswer built = scene.Build("int b;");
  REQUIRE(built.precompiled_headers);
  const BuildAnswer hit = scene.Build("int b;");
  CHECK(hit.outcome == Outcome::kHit);
  CHECK_FALSE(hit.precompiled_headers);
  CHECK(hit.key == built.key);
  scene.bench.files.disk->Write("/home/someone/local.h", "two");
  CHECK(scene.Build("int b;").outcome == Outcome::kBuilt);
}

TEST_CASE("a preamble with a changed header serves no build, and is parsed again") {
  Scene scene;
  REQUIRE(scene.Teach());
  scene.bench.files.disk->Write("/home/someone/local.h", "two");
  CHECK_FALSE(scene.Build("int b;").precompiled_headers);
  CHECK(scene.jobs_spared == 0);
  REQUIRE(scene.Teach(2));
  CHECK(scene.Build("int c;").precompiled_headers);
}

TEST_CASE("each user has its own preambles") {
  Scene scene;
  REQUIRE(scene.Teach());
  REQUIRE(scene.Teach(2, kBob));
  CHECK(scene.Build("int c;", kBob).precompiled_headers);
}

TEST_CASE("an account whose jobs run isolated uses no preambles, and prevents none") {
  Scene scene;
  scene.bench.compiler.KeepApart(kBob.account());
  CHECK_FALSE(scene.Build("int a;", kBob).precompiled_headers);
  CHECK_FALSE(scene.Build("int b;", kBob).precompiled_headers);
  CHECK(scene.bench.Count(Counter::kPreambles) == 0);
  REQUIRE(scene.Teach());
  CHECK(scene.Build("int d;").precompiled_headers);
}

TEST_CASE("the overflow uid has no preambles") {
  Scene scene;
  const Peer nobody{65534, 65534, {}, 9};
  for (const char* rest : {"int a;", "int b;", "int c;"}) scene.Build(rest, nobody);
  REQUIRE(scene.Teach());
  CHECK(scene.jobs_spared == 0);
  CHECK(scene.bench.Count(Counter::kPreambles) == 1);
}

TEST_CASE("a build is compiled without its preamble if the compile with it fails") {
  Scene scene;
  REQUIRE(scene.Teach());
  SECTION("the worker dies") {
    scene.spared = [] { return Error{ErrorCode::kWorkerCrashed, "the compiler died by SIGSEGV"}; };
  }
  SECTION("the preamble is of no use") {
    scene.spared = [] { return Error{ErrorCode::kUnavailable, "of no use"}; };
  }
  SECTION("the compiler refuses the program") {
    scene.spared = [] { return Fail("error"); };
  }
  SECTION("the preamble's zygote is gone") { scene.SpoilLast(); }
  const BuildAnswer answer = scene.Build("int b;");
  CHECK(answer.outcome == Outcome::kBuilt);
  CHECK_FALSE(answer.precompiled_headers);
  CHECK(scene.bench.Count(Counter::kPchBuilds) == 0);
  CHECK(scene.bench.Count(Counter::kPchFailures) == static_cast<uint64_t>(scene.jobs_spared));
  CHECK(scene.bench.Count(Counter::kWorkerCrashes) == 0);
}

/// Runs a job with the only preamble, which ends as `spared` says. Returns whether a preamble for
/// the same includes is used after that.
bool UsedAgain(Scene& scene) {
  REQUIRE(scene.Teach());
  CHECK_FALSE(scene.Build("int b;").precompiled_headers);
  scene.spared = [] { return Succeed("output"); };
  scene.Build("int second miss;");
  // Preambles are parsed one at a time, so no earlier request is left after this one.
  const std::string other = kBegin + kBegin;
  REQUIRE(WaitUntil([&, i = 0]() mutable {
    return scene.bench.BuildOne(other + std::to_string(++i)).precompiled_headers;
  }));
  return scene.Build("int c;").precompiled_headers;
}

TEST_CASE("an output that contains the preamble's name is dropped, and so is the preamble") {
  Scene scene;
  scene.spared = [] { return Succeed("/home/someone/cccl-cached-preamble.cu"); };
  CHECK_FALSE(UsedAgain(scene));
  CHECK(scene.bench.Count(Counter::kPchFailures) == 1);
}

TEST_CASE("an output with a mangled name in its log is dropped, and the preamble is kept") {
  Scene scene;
  scene.spared = [] { return Succeed("output", "class n::D<n::_ZN1n1AE> is deprecated"); };
  REQUIRE(scene.Teach());
  const BuildAnswer whole = scene.Build("int b;");
  CHECK_FALSE(whole.precompiled_headers);
  CHECK(whole.log.empty());
  CHECK(scene.jobs_spared == 1);
  CHECK(scene.bench.Count(Counter::kPchFailures) == 1);
  scene.spared = [] { return Succeed("output"); };
  CHECK(scene.Build("int c;").precompiled_headers);
  CHECK(scene.bench.Count(Counter::kPreambles) == 1);
}

TEST_CASE("an output with a preamble is dropped if a later header has __PRETTY_FUNCTION__") {
  Scene scene;
  scene.bench.files.disk->Write("/home/someone/late.h", "f(__PRETTY_FUNCTION__);");
  REQUIRE(scene.Teach());
  scene.spared_asks = "/cccl-root-0/late.h";
  CHECK_FALSE(scene.Build("int b;").precompiled_headers);
  CHECK(scene.jobs_spared == 1);
}

TEST_CASE("a preamble is not parsed again after an error that it may have caused") {
  Scene scene;
  SECTION("the worker dies") {
    scene.spared = [] { return Error{ErrorCode::kWorkerCrashed, "the compiler died by SIGSEGV"}; };
  }
  SECTION("memory runs out") {
    scene.spared = [] { return Error{ErrorCode::kOutOfMemory, "above the limit"}; };
  }
  SECTION("the preamble can't be used") {
    scene.spared = [] {
      return Error{.code = ErrorCode::kUnavailable, .useless_precompiled = true};
    };
  }
  CHECK_FALSE(UsedAgain(scene));
}

TEST_CASE("a preamble is parsed again after a timeout or a changed file") {
  Scene scene;
  SECTION("time runs out") {
    scene.spared = [] { return Error{ErrorCode::kTimedOut, "above the limit"}; };
  }
  SECTION("a file changed") {
    scene.spared = [] { return Error{ErrorCode::kUnavailable, "local.h changed meanwhile"}; };
  }
  CHECK(UsedAgain(scene));
}

/// Builds a new program in this directory. Its header is beside it, or else in the directory of -I.
BuildAnswer BuildIn(Scene& scene, const std::string& directory) {
  const auto request = MakeRequest(kBegin + "int x" + std::to_string(++scene.taught) + ";");
  auto& program = std::get<cccl_cache::NvrtcProgram>(request->program);
  program.name = directory + "/kernel.cu";
  program.options.emplace_back("-I/inc");
  const auto answer = scene.bench.Ask(request);
  REQUIRE(answer.ok());
  return *answer;
}

TEST_CASE("programs in other directories use the same preamble") {
  Scene scene;
  scene.bench.files.disk->Write("/inc/local.h", "one");
  {
    const std::lock_guard not_before_both(scene.held);
    for (const char* directory : {"/one", "/two"}) BuildIn(scene, directory);
  }
  REQUIRE(scene.WaitForPreambles(1));
  CHECK(BuildIn(scene, "/three").precompiled_headers);
  SECTION("until a header changes") {
    scene.bench.files.disk->Write("/inc/local.h", "two");
    CHECK_FALSE(BuildIn(scene, "/three").precompiled_headers);
    {
      const std::lock_guard not_before_both(scene.held);
      BuildIn(scene, "/four");
    }
    REQUIRE(scene.WaitForPreambles(2));
    CHECK(BuildIn(scene, "/five").precompiled_headers);
  }
  SECTION("only a program with its own header does not use the preamble") {
    for (const char* directory : {"/private", "/secret"}) {
      scene.bench.files.disk->Write(directory + std::string("/local.h"), directory);
      CHECK_FALSE(BuildIn(scene, directory).precompiled_headers);
    }
    CHECK(BuildIn(scene, "/four").precompiled_headers);
    {
      const std::lock_guard not_before_both(scene.held);
      BuildIn(scene, "/private");
    }
    REQUIRE(scene.WaitForPreambles(2));
    for (const char* directory : {"/private", "/five", "/private", "/six"}) {
      CHECK(BuildIn(scene, directory).precompiled_headers);
    }
    scene.bench.Stop();
    CHECK(scene.bench.Count(Counter::kPreambles) == 2);
  }
}

TEST_CASE("a preamble for any directory is not kept if it reads a header of one") {
  Scene scene;
  scene.bench.files.disk->Write("/inc/local.h", "one");
  scene.bench.files.disk->Write("/private/local.h", "another");
  {
    const std::lock_guard not_before_both(scene.held);
    for (const char* directory : {"/one", "/private"}) BuildIn(scene, directory);
  }
  REQUIRE(scene.WaitForPreambles(1));
  CHECK(scene.bench.Count(Counter::kPreambleFailures) == 1);
}

bool MakesLtoIr(const CompileJob& job) {
  return std::ranges::count(job.options, "--dlink-time-opt") > 0;
}

CompileOutput Succeed(ArtifactKind kind, const std::string& bytes) {
  CompileOutput output = Succeed("");
  auto artifact = std::make_shared<Artifact>();
  artifact->parts = {{kind, bytes, cccl_cache::Sha256(bytes)}};
  output.artifact = std::move(artifact);
  return output;
}

/// A compiler of LTO-IR, and of the PTX in which its paths are searched.
class LtoIrScene {
 public:
  /// Builds a program whose header may show its path.
  BuildAnswer Build(const std::string& rest, const std::string& option = "-dlto") {
    auto request = MakeRequest(kBegin + rest);
    std::get<NvrtcProgram>(request->program).options = {"-arch=sm_90", option};
    const auto answer = bench.Ask(std::move(request));
    REQUIRE(answer.ok());
    CHECK(answer->outcome == Outcome::kBuilt);
    return *answer;
  }

  std::string ptx = "ptx";  ///< of a job with a preamble
  int spared_ptx = 0;
  CoordinatorBench bench{[this](const CompileJob& job, int) -> Result<CompileOutput> {
    if (const auto header = AskForHeader(job); !header) return header.error();
    const bool spared = job.precompiled != nullptr;
    if (MakesLtoIr(job)) return Succeed(ArtifactKind::kLtoIr, spared ? "spared" : "whole");
    if (!spared) return Succeed(ArtifactKind::kPtx, "ptx");
    ++spared_ptx;
    return Succeed(ArtifactKind::kPtx, ptx);
  }};
  LtoIrScene() {
    bench.files.disk->Write("/home/someone/local.h", "void f() { assert(1); }");
    bench.compiler.SetPrecompilation(
        [](const CompileJob& job) -> Result<std::shared_ptr<const Precompiled>> {
          CHECK_FALSE(MakesLtoIr(job));
          if (const auto header = AskForHeader(job); !header) return header.error();
          return std::shared_ptr<const Precompiled>(std::make_shared<FakePrecompiled>(10));
        });
  }
};

TEST_CASE("one miss of LTO-IR requests a preamble, which its path search uses too") {
  LtoIrScene scene;
  CHECK_FALSE(scene.Build("int a;").precompiled_headers);
  REQUIRE(WaitUntil([&] { return scene.bench.Count(Counter::kPreambles) == 1; }));
  const BuildAnswer answer = scene.Build("int b;");
  CHECK(answer.precompiled_headers);
  REQUIRE(answer.artifact->parts.size() == 1);
  CHECK(answer.artifact->parts[0].bytes == "spared");
  CHECK(answer.artifact->parts[0].precompiled);
  CHECK(scene.spared_ptx >= 1);
  CHECK(scene.bench.Count(Counter::kPathProofs) == 2);
  CHECK(scene.bench.Count(Counter::kPchBuilds) == 1);
  CHECK_FALSE(scene.Build("int b;", "-optix-ir").precompiled_headers);
}

TEST_CASE("LTO-IR is compiled without a preamble if the preamble changes names in the PTX") {
  LtoIrScene scene;
  scene.Build("int a;");
  REQUIRE(WaitUntil([&] { return scene.bench.Count(Counter::kPreambles) == 1; }));
  SECTION("the name under which it was parsed") { scene.ptx = "cccl-cached-preamble.cu"; }
  SECTION("mangled names") { scene.ptx = ".b8 s[] = {58, 58, 95, 90, 78, 49}"; }
  const BuildAnswer answer = scene.Build("int b;");
  CHECK_FALSE(answer.precompiled_headers);
  CHECK(answer.artifact->parts[0].bytes == "whole");
  CHECK_FALSE(answer.artifact->parts[0].precompiled);
}

TEST_CASE("LTO-IR with a preamble is compiled under the real paths if its PTX shows a path") {
  LtoIrScene scene;
  scene.Build("int a;");
  REQUIRE(WaitUntil([&] { return scene.bench.Count(Counter::kPreambles) == 1; }));
  scene.ptx = "/cccl-root-0/local.h";
  const auto paths = scene.bench.Count(Counter::kCompiles);
  scene.Build("int b;");
  CHECK(scene.bench.Count(Counter::kCompiles) == paths + 2);
}

TEST_CASE("no preamble is parsed for a program that does not compile") {
  CoordinatorBench bench([](const CompileJob&, int) { return Fail("error"); });
  bench.BuildOne(kBegin + "int a;");
  bench.BuildOne(kBegin + "int b;");
  bench.coordinator.reset();
  CHECK(bench.Count(Counter::kPreambles) == 0);
}

}  // namespace
}  // namespace cccl_cache::daemon::build_coordinator_preambles_test
