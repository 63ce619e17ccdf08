// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/run/path_proof.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>

#include "daemon/core/run/compile_runner.h"
#include "tests/unit/core/fake_files.h"
#include "tests/unit/core/fakes.h"

namespace cccl_cache::daemon::path_proof_test {
namespace {

using testing::FakeCompiler;
using testing::FakeFileAccess;
using testing::FakeToolchains;
using testing::MakeRequest;
using testing::MakeToolchain;
using testing::Succeed;

std::string IncludeOf(const CompileJob& job) {
  return *std::ranges::find_if(
      job.options, [](const std::string& each) { return each.starts_with("--include-path="); });
}

// The verdict on a program over x.h in this directory, whose compiles give what `output`
// says.
PathVerdict VerdictOn(const std::string& directory,
                      const std::function<std::string(const CompileJob& job)>& output,
                      const std::function<void(FakeFileAccess& files)>& meanwhile = nullptr) {
  FakeToolchains toolchains;
  FakeFileAccess files;
  files.disk->Write(directory + "/x.h", "__FILE__");
  FakeCompiler compiler([&](const CompileJob& job, int) -> Result<CompileOutput> {
    const std::string include = IncludeOf(job);
    if (!job.files->Ask(include.substr(include.find('/')) + "/x.h").ok()) return Succeed("?");
    return Succeed(output(job));
  });
  Statistics statistics;
  CompileRunner runner({toolchains, compiler, files, statistics}, {});
  const auto request = MakeRequest("a");
  std::get<cccl_cache::NvrtcProgram>(request->program).options = {"-arch=sm_90", "-I" + directory};
  const auto plan = [&](bool real) {
    return *PlanBuild(request, MakeToolchain(), {.force_path_dependent = real});
  };
  const BuildPlan real = plan(true);
  const UnprovenResult unproven(real, runner.Run(real, {}, {}));
  if (meanwhile) meanwhile(files);
  const BuildPlan canonical = plan(false);
  return unproven.Compare(canonical,
                          runner.Run(canonical, {.purpose = CompilePurpose::kCallersProof}, {}));
}

TEST_CASE("equal bytes under other names prove that no path shows, and others that one does") {
  CHECK(VerdictOn("/home/someone/include", [](const CompileJob&) { return "same"; }) ==
        PathVerdict::kNotShown);
  CHECK(VerdictOn("/home/someone/include", IncludeOf) == PathVerdict::kShown);
}

TEST_CASE("names of equal length prove nothing, for the length may show") {
  const auto length = [](const CompileJob& job) { return std::to_string(IncludeOf(job).size()); };
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

}  // namespace
}  // namespace cccl_cache::daemon::path_proof_test
