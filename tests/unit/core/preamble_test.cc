// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/run/preamble.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/core/fakes.h"

namespace cccl_cache::daemon::preamble_test {
namespace {

using cccl_cache::NvrtcProgram;
using testing::MakeRequest;
using testing::MakeToolchain;

const std::string kBegin = "#define X 1\n#include <a>\n";

NvrtcProgram& ProgramOf(cccl_cache::BuildRequest& request) {
  return std::get<NvrtcProgram>(request.program);
}

Result<BuildPlan> Plan(std::shared_ptr<cccl_cache::BuildRequest> request, uid_t uid = 1000,
                       ToolchainPtr toolchain = MakeToolchain()) {
  return PlanBuild(std::move(request), std::move(toolchain), {.uid = uid});
}

std::optional<Preamble> PreambleFor(std::shared_ptr<cccl_cache::BuildRequest> request,
                                    uid_t uid = 1000) {
  const Result<BuildPlan> plan = Plan(std::move(request), uid);
  REQUIRE(plan.ok());
  return PreambleOf(*plan);
}

TEST_CASE("programs that differ after their includes share a preamble") {
  const auto one = MakeRequest(kBegin + "int one;\n");
  const auto other = MakeRequest(kBegin + "int other;\n");
  ProgramOf(*other).name = "another.cu";
  ProgramOf(*other).name_expressions = {"&other"};
  const auto preamble = PreambleFor(one);
  REQUIRE(preamble.has_value());
  CHECK(preamble->length == kBegin.size());
  CHECK(PreambleFor(other)->key == preamble->key);
}

TEST_CASE("a preamble's key covers the compiler's whole input, and the user") {
  const auto key_with = [](auto change) {
    auto request = MakeRequest(kBegin + "int x;\n");
    change(*request);
    return PreambleFor(request)->key;
  };
  const auto same = key_with([](auto&) {});
  CHECK(same == key_with([](auto&) {}));
  CHECK(same !=
        key_with([](auto& request) { ProgramOf(request).source = "#include <a>\nint x;\n"; }));
  CHECK(same != key_with([](auto& request) { ProgramOf(request).options.push_back("-DX"); }));
  CHECK(same != key_with([](auto& request) { ProgramOf(request).options.push_back("-I/inc"); }));
  CHECK(same != key_with([](auto& request) { ProgramOf(request).headers = {{"a", "text"}}; }));
  CHECK(same != key_with([](auto& request) { request.working_directory = "/home/else"; }));
  CHECK(same != PreambleFor(MakeRequest(kBegin + "int x;\n"), 1001)->key);
}

TEST_CASE("a preamble has a key for any directory, and a key for its own directory") {
  const auto request_in = [](const char* name, const char* option) {
    auto request = MakeRequest(kBegin + "int x;\n");
    ProgramOf(*request).name = name;
    ProgramOf(*request).options.emplace_back(option);
    return PreambleFor(request).value();
  };
  const Preamble one = request_in("/one/kernel.cu", "-DX");
  const Preamble other = request_in("/other/kernel.cu", "-DX");
  CHECK(one.key == other.key);
  CHECK(one.key_in_directory != other.key_in_directory);
  CHECK(one.key_in_directory != one.key);
  CHECK(one.key_in_directory == request_in("/one/other.cu", "-DX").key_in_directory);
  // With -lineinfo a program is compiled under the real paths.
  CHECK(request_in("/one/kernel.cu", "-lineinfo").key !=
        request_in("/other/kernel.cu", "-lineinfo").key);
}

TEST_CASE("ReadsOwnDirectory is true only if a file in the program's directory was read") {
  Closure closure;
  closure.entries = {{{0, "a.h"}, FileKind::kAbsent, {}, 0},
                     {{1, "a.h"}, FileKind::kFile, {}, 1},
                     {{kWorkingDirectoryRoot, "b.h"}, FileKind::kFile, {}, 2}};
  CHECK_FALSE(ReadsOwnDirectory(closure));
  closure.entries.push_back({{0, "c.h"}, FileKind::kFile, {}, 3});
  CHECK(ReadsOwnDirectory(closure));
}

TEST_CASE("a toolchain that was identified again has its own preambles") {
  const auto request = MakeRequest(kBegin + "int x;\n");
  auto other = std::make_shared<Toolchain>(*MakeToolchain());
  other->serial = 77;
  CHECK(PreambleOf(*Plan(request))->key != PreambleOf(*Plan(request, 1000, other))->key);
}

TEST_CASE("a program whose includes can't be precompiled has no preamble") {
  CHECK_FALSE(PreambleFor(MakeRequest("int x;\n")));
  CHECK_FALSE(PreambleFor(MakeRequest(kBegin + "const char* t = __TIME__;\n")));
  const auto inside = MakeRequest(kBegin + "int x;\n");
  ProgramOf(*inside).options.push_back("-lineinfo");  // compiles under the real paths
  CHECK(PreambleFor(inside));
  for (const char* name :
       {"/opt/cuda/include/kernel.cu", "/usr/local/cuda/include/sub/kernel.cu"}) {
    ProgramOf(*inside).name = name;
    CHECK_FALSE(PreambleFor(inside));
  }
  auto old = std::make_shared<Toolchain>(*MakeToolchain());
  old->capabilities.pch = false;
  CHECK_FALSE(PreambleOf(*Plan(MakeRequest(kBegin + "int x;\n"), 1000, old)));
}

TEST_CASE("LTO-IR has the preamble of the relocatable PTX of the same program") {
  const auto preamble_with = [](std::vector<std::string> options, ToolchainPtr toolchain) {
    auto request = MakeRequest(kBegin + "int x;\n");
    ProgramOf(*request).options = std::move(options);
    const Result<BuildPlan> plan = Plan(request, 1000, std::move(toolchain));
    REQUIRE(plan.ok());
    std::optional<Preamble> preamble = PreambleOf(*plan);
    if (preamble) {
      for (const std::string& option : PreambleJob(plan->job, *preamble).options) {
        CHECK(option.find("dlink-time-opt") == std::string::npos);
      }
    }
    return preamble;
  };
  const auto ptx = preamble_with({"-arch=compute_90", "-rdc=true"}, MakeToolchain());
  REQUIRE(ptx);
  for (const char* option : {"-dlto", "--dlink-time-opt"}) {
    CHECK(preamble_with({"-arch=sm_90", option}, MakeToolchain())->key == ptx->key);
    CHECK(preamble_with({"-arch=sm_80", option}, MakeToolchain())->key != ptx->key);
  }
  auto without_linker = std::make_shared<Toolchain>(*MakeToolchain());
  without_linker->nvjitlink.reset();
  CHECK_FALSE(preamble_with({"-arch=sm_90", "-dlto"}, without_linker));
  CHECK(preamble_with({"-arch=sm_90"}, without_linker));
}

TEST_CASE("a build of OptiX-IR or with debug information has no preamble") {
  for (const char* option : {"-optix-ir", "--optix-ir", "-G", "--device-debug"}) {
    INFO(option);
    auto request = MakeRequest(kBegin + "int x;\n");
    ProgramOf(*request).options.emplace_back(option);
    CHECK_FALSE(PreambleFor(request).has_value());
  }
}

TEST_CASE("a request that uses __BASE_FILE__ has no preamble") {
  const auto request = MakeRequest(kBegin + "int x;\n");
  SECTION("in the preamble") {
    ProgramOf(*request).source = "#include <a>\n#define X __BASE_FILE__\nint x;\n";
  }
  SECTION("in an inline header") { ProgramOf(*request).headers = {{"a", "f(__BASE_FILE__);"}}; }
  SECTION("in an option") { ProgramOf(*request).options.push_back("-DX=__BASE_FILE__"); }
  CHECK_FALSE(PreambleFor(request));
  CHECK(PreambleFor(MakeRequest(kBegin + "const char* f = __FILE__;\n")));
}

TEST_CASE("a request that uses __PRETTY_FUNCTION__ has no preamble") {
  const auto request = MakeRequest(kBegin + "int x;\n");
  REQUIRE(PreambleFor(request));
  SECTION("in the source") { ProgramOf(*request).source += "f(__PRETTY_FUNCTION__);"; }
  SECTION("by a macro") { ProgramOf(*request).source += "#define F __PRETTY_FUNCTION__\n"; }
  SECTION("in an inline header") {
    ProgramOf(*request).headers = {{"a", "f(__PRETTY_FUNCTION__);"}};
  }
  SECTION("in an option") { ProgramOf(*request).options.push_back("-DX=__PRETTY_FUNCTION__"); }
  CHECK_FALSE(PreambleFor(request));
}

TEST_CASE("a mangled name is noticed in a log and in strings, not as the name of a function") {
  CHECK_FALSE(ShowsMangledNames(*testing::MakeArtifact("_ZN1n1fEv", "a.h(1): a warning")));
  CHECK(ShowsMangledNames(*testing::MakeArtifact("code", "class \"n::D<int, n::_ZN1n1AE>\"")));
  Artifact artifact;
  artifact.parts = {{cccl_cache::ArtifactKind::kPtx, ".entry _ZN1n1fEv", {}}};
  CHECK_FALSE(ShowsMangledNames(artifact));
  artifact.parts[0].bytes = ".section .debug_str { .b8 0,95,90,78,49 }";
  CHECK_FALSE(ShowsMangledNames(artifact));
  artifact.parts[0].bytes = ".b8 s[] = {58, 58, 95, 90, 78, 49}";
  CHECK(ShowsMangledNames(artifact));
}

TEST_CASE("the preamble's own name is noticed in an output and its log") {
  const std::string name = "cccl-cached-preamble.cu";
  CHECK_FALSE(ShowsPreamble(*testing::MakeArtifact("code", "a warning")));
  CHECK(ShowsPreamble(*testing::MakeArtifact("code", name + "(1): a warning")));
  CHECK(ShowsPreamble(*testing::MakeArtifact("..." + name + "...")));
  Artifact artifact;
  artifact.parts = {{cccl_cache::ArtifactKind::kPtx,
                     ".b8 s[] = {99, 99, 99, 108, 45, 99, 97, 99, 104, 101, 100, 45, 112, 114, "
                     "101, 97, 109, 98, 108, 101, 46, 99, 117}",
                     {}}};
  CHECK(ShowsPreamble(artifact));
  artifact.parts = {{cccl_cache::ArtifactKind::kLtoIr, name, {}}};
  CHECK_FALSE(ShowsPreamble(artifact));
}

TEST_CASE("the size of a preamble's job includes all its texts") {
  const auto bytes_with = [](auto change) {
    const auto request = MakeRequest(kBegin + "int x;\n");
    change(*request);
    const Result<BuildPlan> plan = Plan(request);
    REQUIRE(plan.ok());
    return BytesOf(PreambleJob(plan->job, *PreambleOf(*plan)), *plan);
  };
  constexpr size_t kMuch = 10'000;
  const std::string much(kMuch, 'x');
  const uint64_t least = bytes_with([](auto&) {});
  CHECK(least >= kBegin.size());
  CHECK(least < kMuch);
  CHECK(bytes_with([&](auto& request) { ProgramOf(request).headers = {{"a", much}}; }) >= kMuch);
  CHECK(bytes_with([&](auto& request) { ProgramOf(request).options.push_back("-D" + much); }) >=
        kMuch);
  CHECK(bytes_with([&](auto& request) { ProgramOf(request).options.push_back("-I/" + much); }) >=
        kMuch);
  CHECK(bytes_with([&](auto& request) {
          ProgramOf(request).source = "#define " + much + "\n#include <a>\nint x;\n";
        }) >= kMuch);
  CHECK(bytes_with([&](auto& request) { ProgramOf(request).source += much; }) == least);
}

TEST_CASE("a preamble's job equals the build's job except for its source, name and seed") {
  const auto request = MakeRequest(kBegin + "int x;\n");
  ProgramOf(*request).headers = {{"a", "text"}};
  ProgramOf(*request).name_expressions = {"x"};
  ProgramOf(*request).options = {"-arch=sm_90", "-frandom-seed=own"};
  const Result<BuildPlan> plan = Plan(request);
  REQUIRE(plan.ok());
  const CompileJob job = PreambleJob(plan->job, *PreambleOf(*plan));
  const auto& program = std::get<NvrtcProgram>(job.request->program);
  CHECK(program.source == kBegin);
  CHECK(program.headers.size() == 1);
  CHECK(program.name_expressions.empty());
  REQUIRE(job.options.size() == plan->job.options.size());
  CHECK(std::ranges::count(plan->job.options, "-frandom-seed=own") == 1);
  for (size_t i = 0; i < job.options.size(); ++i) {
    const std::string& option = plan->job.options[i];
    const bool seed = option == "-frandom-seed=own";
    CHECK(job.options[i] == (seed ? "-frandom-seed=cccl-cached-preamble.cu" : option));
  }
  CHECK(job.program_name == "/cccl-root-0/cccl-cached-preamble.cu");
  CHECK(job.visible_working_directory == plan->job.visible_working_directory);
}

TEST_CASE("NamesProgram finds a look-up of the program's own name") {
  CompileJob job;
  job.program_name = "/cccl-root-0/kernel.cu";
  Closure closure;
  closure.entries.push_back({{1, "sub/other.cu"}, FileKind::kFile, {}, 0});
  CHECK_FALSE(NamesProgram(closure, job));
  closure.entries.push_back({{1, "sub/kernel.cu"}, FileKind::kFile, {}, 1});
  CHECK(NamesProgram(closure, job));
}

}  // namespace
}  // namespace cccl_cache::daemon::preamble_test
