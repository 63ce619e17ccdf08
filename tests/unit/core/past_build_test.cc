// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "daemon/core/lookup/history.h"
#include "tests/unit/core/waiters.h"

namespace cccl_cache::daemon {
namespace {

using cccl_cache::NvrtcProgram;
using cccl_cache::Sha256;
using testing::MakePlan;
using testing::MakeRequest;

PastBuild MarkOfNvrtc(NvrtcProgram program, const PlanOptions& options = {}) {
  auto request = MakeRequest("");
  request->program = std::move(program);
  return MarkOf(*MakePlan(std::move(request), options));
}

TEST_CASE("a program is marked by its name, its texts' digests and lines, and never by contents") {
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

TEST_CASE("a build is marked by what it is known by, its compiler and toolchain") {
  const auto plan = MakePlan(MakeRequest("a"));
  const PastBuild build = MarkOf(*plan);
  CHECK(build.key == plan->key);
  CHECK(build.fingerprint == plan->fingerprint);
  CHECK(build.compiler == testing::MakeToolchain()->nvrtc->id);
  CHECK(build.toolchain == "13.0 (" + testing::MakeToolchain()->id.Hex().substr(0, 12) + ")");
  CHECK(MarkOf(*MakePlan(MakeRequest("a"), {.force_path_dependent = true})).path_dependent);
}

TEST_CASE("directories are marked by what they mean, apart from the options") {
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

TEST_CASE("a directory of a client that does not say where it works lies nowhere") {
  auto request = MakeRequest("");
  request->working_directory.clear();
  std::get<NvrtcProgram>(request->program).options = {"-Iinc"};
  const PastBuild build = MarkOf(*MakePlan(std::move(request)));
  REQUIRE(build.directories.size() == 2);
  CHECK(build.directories[1] == SearchDirectory{"inc/", "nowhere", ""});
}

TEST_CASE("a link is marked by its inputs and their types") {
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

TEST_CASE("modules are marked by whether they are added lazily, and libdevice like an option") {
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

TEST_CASE("a file has the name that the client gives it, whatever lies under no root its own") {
  const PastBuild build = MarkOfNvrtc({.source = "", .name = "/home/a/k.cu", .options = {"-Iinc"}});
  CHECK(ClientPath(build, {0, "x.h"}) == "/home/a/x.h");
  CHECK(ClientPath(build, {1, "deep/x.h"}) == "inc/deep/x.h");
  CHECK(ClientPath(build, {2, "x.h"}) == "x.h");
  CHECK(ClientPath(build, {kAbsoluteRoot, "/opt/x.h"}) == "/opt/x.h");
  CHECK(ClientPath(build, {kWorkingDirectoryRoot, "x.h"}) == "x.h");
}

TEST_CASE("what is kept is kept as that") {
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
}  // namespace cccl_cache::daemon
