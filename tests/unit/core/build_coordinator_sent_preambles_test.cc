// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Background work for callers that sent their files and have left.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "daemon/core/coordinator/coordinator.h"
#include "daemon/core/model/compiler.h"
#include "tests/support/wait_until.h"
#include "tests/unit/core/answering_caller.h"
#include "tests/unit/core/coordinator_bench.h"

namespace cccl_cache::daemon::build_coordinator_sent_preambles_test {
namespace {

using testing::AnsweringCaller;
using testing::Answers;
using testing::CoordinatorBench;
using testing::FakePrecompiled;
using testing::kAlice;
using testing::kBob;
using testing::MakeRequest;
using testing::Succeed;

const Peer kNobody{kOverflowUid, kOverflowUid, {}, 9};
const std::string kLocal = "/home/someone/local.h";

/// Asks for "local.h" beside the program.
Result<FileAnswer> AskForLocal(const CompileJob& job) {
  const std::string directory = job.program_name.starts_with('/')
                                    ? job.program_name.substr(0, job.program_name.rfind('/'))
                                    : job.visible_working_directory;
  return job.files->Ask(directory + "/local.h");
}

/// Programs with a header that their callers send. Each caller is destroyed after its answer, so
/// that a later question to it crashes.
class Scene {
 public:
  explicit Scene(uint64_t shadow_check_every = 0)
      : bench([this](const CompileJob& job, int call) { return Compile(job, call); },
              {.shadow_check_every = shadow_check_every}) {
    bench.files.disk->Refuse(kLocal, {ErrorCode::kFilesNeeded, "only the client can tell"});
    bench.compiler.SetPrecompilation(
        [](const CompileJob& job) -> Result<std::shared_ptr<const Precompiled>> {
          const Result<FileAnswer> local = AskForLocal(job);
          if (!local) return local.error();
          return std::shared_ptr<const Precompiled>(std::make_shared<FakePrecompiled>(10));
        });
  }

  /// Builds a program that includes local.h. `header`: its text; none if the caller refuses to
  /// answer.
  Result<BuildAnswer> Build(const std::string& rest, const std::optional<std::string>& header,
                            const Peer& peer = kAlice, bool says_where = true) {
    AnsweringCaller caller(peer.uid, bench.sent);
    if (header) {
      caller.files = {{kLocal, *header}};
    } else {
      caller.refused = {{kLocal, "not today"}};
    }
    auto request = MakeRequest("#include \"local.h\"\n" + rest);
    if (says_where) request->files_view = cccl_cache::FilesView{7, 1, 2};
    Answers answers;
    bench.coordinator->Start(std::move(request), {peer, caller.exchange}, answers.Collect());
    return answers.Wait(1).at(0);
  }
  /// Returns whether the build used a preamble.
  bool IsSpared(const std::string& rest, const std::string& header, const Peer& peer = kAlice) {
    const Result<BuildAnswer> answer = Build(rest, header, peer);
    REQUIRE(answer.ok());
    CHECK(answer->outcome == Outcome::kBuilt);
    return answer->precompiled_headers;
  }
  /// Compiles two programs with this header, then waits until `count` preambles were parsed.
  bool Teach(const std::string& header, uint64_t count = 1, const Peer& peer = kAlice) {
    for (int i = 0; i < 2; ++i) {
      CHECK_FALSE(IsSpared("int teach" + std::to_string(++taught) + ";", header, peer));
    }
    return WaitForPreambles(count);
  }
  bool WaitForPreambles(uint64_t count) {
    return WaitUntil([&] { return bench.Count(Counter::kPreambles) >= count; });
  }

  /// Returns the output of the compile with this number.
  std::function<std::string(int call)> output = [](int) { return "output"; };
  /// Called by each compile after it asked for its header.
  std::function<void(const CompileJob& job)> once_asked = [](const CompileJob&) {};
  std::atomic<int> jobs_spared{0};
  int taught = 0;
  CoordinatorBench bench;

 private:
  Result<CompileOutput> Compile(const CompileJob& job, int call) {
    if (job.precompiled != nullptr) {
      ++jobs_spared;
      return Succeed(output(call));
    }
    const Result<FileAnswer> local = AskForLocal(job);
    if (!local) return local.error();
    once_asked(job);
    return Succeed(output(call));
  }
};

TEST_CASE("a client that sends its files uses a preamble parsed after an earlier client left") {
  Scene scene;
  REQUIRE(scene.Teach("one"));
  CHECK(scene.IsSpared("int b;", "one"));
  CHECK(scene.bench.Count(Counter::kPchBuilds) == 1);
  CHECK(scene.bench.Count(Counter::kCompiles) == 3);
  const auto hit = scene.Build("int b;", "one");
  REQUIRE(hit.ok());
  CHECK(hit->outcome == Outcome::kHit);
}

TEST_CASE(
    "a preamble from sent files serves no build after a header changed, and is parsed again") {
  Scene scene;
  REQUIRE(scene.Teach("one"));
  CHECK_FALSE(scene.IsSpared("int b;", "two"));
  CHECK(scene.jobs_spared == 0);
  CHECK_FALSE(scene.IsSpared("int c;", "two"));
  REQUIRE(scene.WaitForPreambles(2));
  CHECK(scene.IsSpared("int d;", "two"));
}

TEST_CASE("each user has its own preambles from sent files") {
  Scene scene;
  REQUIRE(scene.Teach("one"));
  REQUIRE(scene.Teach("one", 2, kBob));
  CHECK(scene.IsSpared("int c;", "one", kBob));
}

TEST_CASE("a client with the overflow uid or without a files view has no preambles") {
  Scene scene;
  for (const char* rest : {"int a;", "int b;"}) {
    CHECK(scene.Build(rest, "one", kAlice, false).ok());
    CHECK(scene.Build(rest, "one", kNobody).ok());
  }
  // Preambles are parsed one at a time, in the order of the requests.
  REQUIRE(scene.Teach("one"));
  CHECK(scene.bench.Count(Counter::kPreambles) == 1);
  CHECK(scene.jobs_spared == 0);
}

TEST_CASE("a preamble is parsed again if sent contents expired before its parse") {
  Scene scene;
  scene.once_asked = [&](const CompileJob&) {
    scene.bench.later = scene.bench.later.load() + std::chrono::minutes(11);
  };
  REQUIRE(scene.Teach("one"));
  scene.once_asked = [](const CompileJob&) {};
  CHECK_FALSE(scene.IsSpared("int b;", "one"));
  REQUIRE(scene.WaitForPreambles(2));
  CHECK(scene.IsSpared("int c;", "one"));
}

TEST_CASE("a preamble is kept if a caller refuses to answer about its files") {
  Scene scene;
  REQUIRE(scene.Teach("one"));
  const auto refused = scene.Build("int b;", std::nullopt);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kDenied);
  CHECK(scene.IsSpared("int c;", "one"));
  CHECK(scene.bench.Count(Counter::kPreambles) == 1);
}

TEST_CASE("a client that does not send its files gets files-needed, and the preamble is kept") {
  Scene scene;
  REQUIRE(scene.Teach("one"));
  const int started = scene.bench.compiler.started();
  auto request = MakeRequest("#include \"local.h\"\nint b;");
  request->files_view = cccl_cache::FilesView{7, 1, 2};
  const auto refused = scene.bench.Ask(request);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kFilesNeeded);
  CHECK(scene.bench.compiler.started() == started);
  CHECK(scene.IsSpared("int b;", "one"));
  CHECK(scene.bench.Count(Counter::kPreambles) == 1);
}

TEST_CASE("a shadow check of a hit with sent files uses the sent files") {
  Scene scene(1);
  SECTION("the output is the same") {}
  SECTION("the output differs") {
    scene.output = [](int call) { return std::to_string(call); };
  }
  REQUIRE(scene.Build("int a;", "one").ok());
  CHECK(scene.Build("int a;", "one")->outcome == Outcome::kHit);
  REQUIRE(scene.bench.compiler.WaitUntilEnded(2));
  scene.bench.Stop();
  CHECK(scene.bench.Count(Counter::kShadowChecks) == 1);
  CHECK(scene.bench.Count(Counter::kShadowMismatches) == (scene.output(1) == "1" ? 1 : 0));
}

TEST_CASE("a shadow check does not judge an entry after the sent contents expired") {
  Scene scene(1);
  scene.output = [](int call) { return std::to_string(call); };
  REQUIRE(scene.Build("int a;", "one").ok());
  scene.bench.later = std::chrono::minutes(11);
  CHECK(scene.Build("int a;", "one")->outcome == Outcome::kHit);
  REQUIRE(scene.bench.compiler.WaitUntilEnded(2));
  scene.bench.Stop();
  CHECK(scene.bench.Count(Counter::kShadowMismatches) == 0);
}

TEST_CASE("hits with sent files are not checked for the overflow uid or without a files view") {
  Scene scene(1);
  std::atomic<int> compiles_of_last{0};
  scene.once_asked = [&](const CompileJob& job) {
    const auto& program = std::get<cccl_cache::NvrtcProgram>(job.request->program);
    if (program.source.ends_with("int last;")) ++compiles_of_last;
  };
  for (int i = 0; i < 2; ++i) {
    REQUIRE(scene.Build("int a;", "one", kNobody).ok());
    REQUIRE(scene.Build("int a;", "one", kAlice, false).ok());
  }
  for (int i = 0; i < 2; ++i) REQUIRE(scene.Build("int last;", "one").ok());
  REQUIRE(WaitUntil([&] { return compiles_of_last >= 2; }));
  scene.bench.Stop();
  CHECK(scene.bench.Count(Counter::kShadowChecks) == 1);
}

}  // namespace
}  // namespace cccl_cache::daemon::build_coordinator_sent_preambles_test
