// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/lookup/history.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <optional>
#include <string>

#include "tests/unit/core/waiters.h"

namespace cccl_cache::daemon::history_test {
namespace {

using cccl_cache::NvrtcProgram;
using cccl_cache::Sha256;
using testing::MakePlan;
using testing::MakeRequest;

constexpr uid_t kAlice = 1000;
constexpr uid_t kBob = 1001;

PastBuild Numbered(int number) {
  PastBuild build;
  build.program = std::to_string(number);
  build.key = cccl_cache::Sha256(build.program);
  return build;
}

std::shared_ptr<const Closure> FilesOf(int count) {
  auto closure = std::make_shared<Closure>();
  for (int i = 0; i < count; ++i) {
    closure->entries.push_back({{0, std::to_string(i)}, FileKind::kFile, {}, 0});
  }
  return closure;
}

bool Knows(const BuildHistory& history, uid_t uid, int number) {
  return history.Knows(uid, Numbered(number).key);
}

TEST_CASE("a user sees only its own builds, the newest first") {
  BuildHistory history(1 << 20);
  history.Add(kAlice, Account(kAlice), Numbered(1));
  history.Add(kAlice, Account(kAlice), Numbered(2));
  const auto builds = history.Of(kAlice);
  REQUIRE(builds.size() == 2);
  CHECK(builds[0]->program == "2");
  CHECK(Knows(history, kAlice, 1));
  CHECK(history.Of(kBob).empty());
  CHECK_FALSE(Knows(history, kBob, 1));
}

TEST_CASE("the longest compiles of a user, or of all, come first, without joined ones") {
  BuildHistory history(1 << 20);
  const auto add = [&history](uid_t uid, int number, int seconds, Outcome outcome) {
    PastBuild build = Numbered(number);
    build.compile_time = std::chrono::seconds(seconds);
    build.outcome = outcome;
    history.Add(uid, Account(uid), std::move(build));
  };
  add(kAlice, 1, 3, Outcome::kBuilt);
  add(kAlice, 2, 9, Outcome::kJoined);
  add(kAlice, 3, 5, Outcome::kFailed);
  add(kBob, 4, 4, Outcome::kUncacheable);
  const auto programs = [&history](std::optional<uid_t> uid, size_t most) {
    std::string all;
    for (const UsersBuild& each : history.Dearest(uid, most)) all += each.build->program;
    return all;
  };
  CHECK(programs(kAlice, 20) == "31");
  CHECK(programs(std::nullopt, 20) == "341");
  CHECK(programs(std::nullopt, 2) == "34");
  CHECK(programs(1002, 20).empty());
}

TEST_CASE("the shown name is the end of the program's or first input's name") {
  const auto request = MakeRequest("");
  auto& program = std::get<NvrtcProgram>(request->program);
  program.name = "/home/alice/kernel.cu";
  CHECK(ShownName(*request) == "kernel.cu");
  program.name = "";
  CHECK(ShownName(*request) == "default_program");
  program.name = std::string(63, 'x') + "\u00e9\xff";
  CHECK(ShownName(*request) == std::string(63, 'x'));
  program.name = "a\xff";
  CHECK(ShownName(*request) == "a?");
  request->program = LinkProgram{};
  CHECK(ShownName(*request).empty());
  std::get<LinkProgram>(request->program).inputs = {{.name = "x/first.ltoir"}, {.name = "second"}};
  CHECK(ShownName(*request) == "first.ltoir");
}

TEST_CASE("nothing is remembered for the overflow uid") {
  BuildHistory history(1 << 20);
  history.Add(65534, Account(65534), Numbered(1));
  CHECK(history.Of(65534).empty());
}

TEST_CASE("a user's many builds evict only that user's oldest builds") {
  BuildHistory history(64 << 10);
  history.Add(kBob, Account(kBob), Numbered(0));
  for (int i = 1; i <= 1000; ++i) history.Add(kAlice, Account(kAlice), Numbered(i));
  CHECK(history.bytes() <= 64 << 10);
  CHECK(Knows(history, kBob, 0));
  CHECK(Knows(history, kAlice, 1000));
  CHECK_FALSE(Knows(history, kAlice, 1));
}

TEST_CASE("when the history is full, the largest user's oldest build is dropped first") {
  BuildHistory history(64 << 10);
  const size_t one = FootprintOf(Numbered(100));
  history.Add(kBob, Account(kBob), Numbered(0));
  for (uid_t uid = 1; uid <= 2 * BuildHistory::kShares; ++uid) {
    for (int i = 0; i < 1000; ++i) history.Add(5000 + uid, Account(5000 + uid), Numbered(i));
  }
  CHECK(history.bytes() <= 64 << 10);
  CHECK(history.bytes() > (64 << 10) - 4 * one);
  CHECK(Knows(history, kBob, 0));
}

TEST_CASE("uids of one account evict each other's builds, and each sees only its own") {
  BuildHistory history(64 << 10);
  const size_t share = (64 << 10) / BuildHistory::kShares;
  for (uid_t uid = kBob; uid < kBob + BuildHistory::kShares - 1; ++uid) {
    for (int i = 0; i < 5; ++i) history.Add(uid, Account(uid), Numbered(i));
  }
  const size_t before = history.bytes();
  for (uid_t uid = 100'000; uid < 101'000; ++uid) {
    history.Add(uid, Account(kAlice), Numbered(static_cast<int>(uid)));
  }
  for (uid_t uid = kBob; uid < kBob + BuildHistory::kShares - 1; ++uid) {
    CHECK(history.Of(uid).size() == 5);
  }
  CHECK(history.bytes() <= before + share);
  CHECK(history.bytes() > before);
  CHECK(Knows(history, 100'999, 100'999));
  CHECK_FALSE(Knows(history, 100'998, 100'999));
}

TEST_CASE("the number of a user's builds is bounded, however small they are") {
  BuildHistory history(1 << 30);
  for (size_t i = 0; i < BuildHistory::kMaxBuilds + 10; ++i) {
    history.Add(kAlice, Account(kAlice), Numbered(static_cast<int>(i)));
  }
  CHECK(history.Of(kAlice).size() == BuildHistory::kMaxBuilds);
}

TEST_CASE("builds with equal closures share the memory of the closure") {
  BuildHistory history(4 << 20);
  PastBuild first = Numbered(1);
  first.closure = FilesOf(1000);
  PastBuild second = Numbered(2);
  second.closure = FilesOf(1000);
  history.Add(kAlice, Account(kAlice), first);
  const size_t before = history.bytes();
  history.Add(kAlice, Account(kAlice), second);
  CHECK(history.bytes() - before == FootprintOf(Numbered(2)));
  CHECK(history.Of(kAlice)[0]->closure == history.Of(kAlice)[1]->closure);
}

TEST_CASE("a closure that is too large is left out of a remembered build") {
  BuildHistory history(64 << 10);
  PastBuild build = Numbered(1);
  build.closure = FilesOf(1000);
  history.Add(kAlice, Account(kAlice), build);
  REQUIRE(history.Of(kAlice).size() == 1);
  CHECK(history.Of(kAlice)[0]->closure == nullptr);
  build = Numbered(2);
  build.options = {std::string(64 << 10, 'x')};
  history.Add(kAlice, Account(kAlice), build);
  CHECK_FALSE(Knows(history, kAlice, 2));
}

PastBuild MarkOfNvrtc(NvrtcProgram program, const PlanOptions& options = {}) {
  auto request = MakeRequest("");
  request->program = std::move(program);
  return MarkOf(*MakePlan(std::move(request), options));
}

TEST_CASE("a program is recorded by name, digests and line counts, never by contents") {
  const PastBuild build = MarkOfNvrtc({.source = "one\ntwo\n",
                                       .name = "/home/a/k.cu",
                                       .options = {"-arch=sm_90"},
                                       .headers = {{"a.h", "one\ntwo"}, {"b.h", ""}},
                                       .name_expressions = {"f<int>"}});
  CHECK(build.kind == cccl_cache::BuildKind::kNvrtc);
  CHECK(build.program == "k.cu");
  CHECK(build.source == ContentMark{"/home/a/k.cu", Sha256("one\ntwo\n"), 2, 0});
  REQUIRE(build.headers.size() == 2);
  CHECK(build.headers[0] == ContentMark{"a.h", Sha256("one\ntwo"), 2, 0});
  CHECK(build.headers[1] == ContentMark{"b.h", Sha256(""), 0, 0});
  CHECK(build.name_expressions == std::vector<std::string>{"f<int>"});
  CHECK(build.working_directory == "/home/someone");
  CHECK_FALSE(build.path_dependent);
}

TEST_CASE("a build's record has its key, fingerprint, compiler and toolchain") {
  const auto plan = MakePlan(MakeRequest("a"));
  const PastBuild build = MarkOf(*plan);
  CHECK(build.key == plan->key);
  CHECK(build.fingerprint == plan->fingerprint);
  CHECK(build.compiler == testing::MakeToolchain()->nvrtc->id);
  CHECK(build.toolchain == "13.0 (" + testing::MakeToolchain()->id.Hex().substr(0, 12) + ")");
  CHECK(MarkOf(*MakePlan(MakeRequest("a"), {.force_path_dependent = true})).path_dependent);
}

TEST_CASE("directories are recorded by their meaning, separately from the options") {
  const PastBuild build =
      MarkOfNvrtc({.source = "",
                   .name = "/home/a/k.cu",
                   .options = {"-I/usr/local/cuda/include", "-arch=sm_90", "-Iinc", "-DX=1"}});
  CHECK(build.options ==
        std::vector<std::string>{"--gpu-architecture=sm_90", "--define-macro=X=1"});
  REQUIRE(build.directories.size() == 3);
  CHECK(build.directories[0] == SearchDirectory{"/home/a/", "outside", "/home/a"});
  CHECK(build.directories[1].shown == "/usr/local/cuda/include/");
  CHECK(build.directories[1].meaning.starts_with("toolchain "));
  CHECK(build.directories[2] == SearchDirectory{"inc/", "outside", "/home/someone/inc"});
}

TEST_CASE("a relative directory without a working directory is nowhere") {
  auto request = MakeRequest("");
  request->working_directory.clear();
  std::get<NvrtcProgram>(request->program).options = {"-Iinc"};
  const PastBuild build = MarkOf(*MakePlan(std::move(request)));
  REQUIRE(build.directories.size() == 2);
  CHECK(build.directories[1] == SearchDirectory{"inc/", "nowhere", ""});
}

TEST_CASE("a link is recorded by its inputs and their types") {
  auto request = MakeRequest("");
  request->program =
      cccl_cache::LinkProgram{.inputs = {{cccl_cache::LinkInputType::kCubin, "a.cubin", "a"},
                                         {cccl_cache::LinkInputType::kLtoIr, "b.ltoir", "b"}},
                              .options = {"-arch=sm_90", "-lto"}};
  const PastBuild build = MarkOf(*MakePlan(std::move(request)));
  CHECK(build.kind == cccl_cache::BuildKind::kLink);
  CHECK(build.program.empty());
  REQUIRE(build.inputs.size() == 2);
  CHECK(build.inputs[0] == ContentMark{"a.cubin", Sha256("a"), 0, 1});
  CHECK(build.inputs[1] == ContentMark{"b.ltoir", Sha256("b"), 0, 3});
  CHECK(build.compiler == testing::MakeToolchain()->nvjitlink->id);
}

TEST_CASE("NVVM modules are recorded with their laziness, and libdevice as an option") {
  auto request = MakeRequest("");
  request->program = cccl_cache::NvvmProgram{.modules = {{"a", "1", false}, {"b", "2", true}},
                                             .options = {"-arch=compute_90"},
                                             .add_libdevice = GENERATE(false, true)};
  const bool libdevice = std::get<cccl_cache::NvvmProgram>(request->program).add_libdevice;
  const PastBuild build = MarkOf(*MakePlan(std::move(request)));
  REQUIRE(build.inputs.size() == 2);
  CHECK(build.inputs[0] == ContentMark{"a", Sha256("1"), 0, 0});
  CHECK(build.inputs[1] == ContentMark{"b", Sha256("2"), 0, 1});
  CHECK(build.options.size() == (libdevice ? 2 : 1));
  CHECK((build.options.back() == "the toolchain's libdevice") == libdevice);
  CHECK(build.compiler == testing::MakeToolchain()->nvvm->id);
}

TEST_CASE("ClientPath returns the client's name of a file, or its own name without a root") {
  const PastBuild build = MarkOfNvrtc({.source = "", .name = "/home/a/k.cu", .options = {"-Iinc"}});
  CHECK(ClientPath(build, {0, "x.h"}) == "/home/a/x.h");
  CHECK(ClientPath(build, {1, "deep/x.h"}) == "inc/deep/x.h");
  CHECK(ClientPath(build, {2, "x.h"}) == "x.h");
  CHECK(ClientPath(build, {kAbsoluteRoot, "/opt/x.h"}) == "/opt/x.h");
  CHECK(ClientPath(build, {kWorkingDirectoryRoot, "x.h"}) == "x.h");
}

TEST_CASE("only built and joined builds are kept") {
  PastBuild build;
  CHECK(build.kept());
  build.outcome = Outcome::kJoined;
  CHECK(build.kept());
  build.outcome = GENERATE(Outcome::kFailed, Outcome::kUncacheable, Outcome::kHit);
  CHECK_FALSE(build.kept());
}

TEST_CASE("every text of a build counts as memory") {
  constexpr size_t kBytes = 10'000;
  const std::string text(kBytes, 'x');
  PastBuild build;
  const size_t before = FootprintOf(build);
  SECTION("program") { build.program = text; }
  SECTION("source") { build.source.name = text; }
  SECTION("header") { build.headers = {{text, {}, 0, 0}}; }
  SECTION("name expression") { build.name_expressions = {text}; }
  SECTION("input") { build.inputs = {{text, {}, 0, 0}}; }
  SECTION("option") { build.options = {text}; }
  SECTION("directory as shown") { build.directories = {{text, "", ""}}; }
  SECTION("directory's meaning") { build.directories = {{"", text, ""}}; }
  SECTION("directory's path") { build.directories = {{"", "", text}}; }
  SECTION("working directory") { build.working_directory = text; }
  SECTION("toolchain") { build.toolchain = text; }
  SECTION("prefix") { build.client_prefixes = {text}; }
  SECTION("reason") { build.reason = text; }
  CHECK(FootprintOf(build) >= before + kBytes);
}

TEST_CASE("every name of a closure counts as memory") {
  Closure closure;
  const size_t before = FootprintOf(closure);
  closure.entries.push_back({{0, std::string(10'000, 'x')}, FileKind::kFile, {}, 0});
  closure.entries.push_back({{0, ""}, FileKind::kFile, {}, 1});
  CHECK(FootprintOf(closure) >= before + 10'000 + 2 * sizeof(ClosureEntry));
}

}  // namespace
}  // namespace cccl_cache::daemon::history_test
