// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "daemon/core/run/idle_checks.h"
#include "tests/unit/core/fake_files.h"
#include "tests/unit/core/fakes.h"

namespace cccl_cache::daemon {
namespace {

using testing::FakeCompiler;
using testing::FakeFileAccess;
using testing::FakeToolchains;
using testing::MakeRequest;
using testing::MakeToolchain;
using testing::Succeed;

// What comes out about a program over x.h in this directory, whose compiles give what `output`
// says.
PathVerdict VerdictOn(const std::string& directory,
                      const std::function<std::string(const CompileJob& job)>& output,
                      const std::function<void(FakeFileAccess& files)>& meanwhile = nullptr) {
  FakeToolchains toolchains;
  FakeFileAccess files;
  files.disk->Write(directory + "/x.h", "__FILE__");
  FakeCompiler compiler([&](const CompileJob& job, int) -> Result<CompileOutput> {
    const std::string& include = job.options.at(1);
    if (!job.files->Ask(include.substr(include.find('/')) + "/x.h").ok()) return Succeed("?");
    return Succeed(output(job));
  });
  Statistics statistics;
  CompileRunner runner({toolchains, compiler, files, statistics}, {});
  const auto request = MakeRequest("a");
  std::get<cccl_cache::NvrtcProgram>(request->program).options = {"-arch=sm_90", "-I" + directory};
  const auto plan = [&](bool real) {
    return std::make_shared<const BuildPlan>(
        *PlanBuild(request, MakeToolchain(), {.force_path_dependent = real}));
  };
  const auto real = plan(true);
  const FlightResult flight_result = runner.Run(*real, {}, {});
  if (meanwhile) meanwhile(files);
  const PathProof proof{
      real, plan(false), {}, flight_result.output.artifact, flight_result.closure, nullptr};
  return RunPathProof(proof, CompilePurpose::kPathProof, runner, {}).verdict;
}

TEST_CASE("equal bytes under other names prove that no path shows, and others that one does") {
  CHECK(VerdictOn("/home/someone/include", [](const CompileJob&) { return "same"; }) ==
        PathVerdict::kNotShown);
  CHECK(VerdictOn("/home/someone/include",
                  [](const CompileJob& job) { return job.options.at(1); }) == PathVerdict::kShown);
}

TEST_CASE("names of equal length prove nothing, for the length may show") {
  const auto length = [](const CompileJob& job) { return std::to_string(job.options[1].size()); };
  CHECK(VerdictOn("/opt/include", length) == PathVerdict::kUnknown);
  CHECK(VerdictOn("/opt/includes", length) == PathVerdict::kShown);
}

TEST_CASE("a file that changed before the proof proves nothing") {
  CHECK(VerdictOn(
            "/home/someone/include", [](const CompileJob&) { return "same"; },
            [](FakeFileAccess& files) {
              files.disk->Write("/home/someone/include/x.h", "changed");
            }) == PathVerdict::kUnknown);
}

TEST_CASE("a proof is made once: by the thread that has it, or by a caller that takes it") {
  const auto request = MakeRequest("a");
  const auto canonical =
      std::make_shared<const BuildPlan>(*PlanBuild(request, MakeToolchain(), {}));
  const PathProof proof{nullptr, canonical, Peer{7, 7, {}, 1}, nullptr, {}, nullptr};
  OpenProofs proofs;
  const auto first = proofs.Add(proof);
  REQUIRE(first != nullptr);
  CHECK(proofs.Add(proof) == nullptr);
  CHECK(proofs.Take(*canonical, 8) == nullptr);  // another user's files are nothing to wait for
  CHECK_FALSE(first->taken.stop_requested());
  CHECK(proofs.Take(*canonical, 7) == first);
  CHECK(first->taken.stop_requested());
  const auto second = proofs.Add(proof);
  REQUIRE(second != nullptr);
  proofs.Remove(first);
  CHECK(proofs.Take(*canonical, 7) == second);
  CHECK(proofs.Take(*canonical, 7) == nullptr);
}

TEST_CASE("a proof that is not made yet is that of one tree of headers") {
  const auto request = MakeRequest("a");
  const auto plan_over = [&request](const std::string& contents) {
    auto toolchain = std::make_shared<Toolchain>(*MakeToolchain());
    toolchain->contents = std::make_shared<const ToolchainHeaders>(
        std::vector<ToolchainHeaders::File>{{"0/a.h", cccl_cache::Sha256(contents), {1, 1}}},
        std::vector<ToolchainHeaders::Directory>{}, false);
    return std::make_shared<const BuildPlan>(*PlanBuild(request, toolchain, {}));
  };
  OpenProofs proofs;
  const PathProof proof{nullptr, plan_over("one"), Peer{7, 7, {}, 1}, nullptr, {}, nullptr};
  const auto open = proofs.Add(proof);
  REQUIRE(open != nullptr);
  CHECK(proofs.Take(*plan_over("other"), 7) == nullptr);
  CHECK(proofs.Take(*plan_over("one"), 7) == open);
}

}  // namespace
}  // namespace cccl_cache::daemon
