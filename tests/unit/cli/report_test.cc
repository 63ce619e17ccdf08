// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/build_options.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/cli/fake_library.h"
#include "tests/unit/cli/said.h"

using namespace cccl_cache::cli;
using cccl_cache::Kind;

namespace {

struct Scene {
  Scene() {
    Library() = FakeLibrary();
    plan.architecture = "sm_90";
    plan.output = directory / "out";
    Library().result.artifacts = {{CCCL_CACHE_PTX, "ptx"}, {CCCL_CACHE_CUBIN, "cubin"}};
  }

  /// What the command tells of the library's result.
  [[nodiscard]] Said Tell(const CommonOptions& common = {}) const {
    return Listen([&] {
      auto client = cccl_cache::Client::Open();
      return Report(*client->Build(cccl_cache::NvrtcBuild{}), plan, common, time);
    });
  }

  [[nodiscard]] std::string Written() const {
    std::ifstream file(plan.output, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  cccl_cache::daemon::TemporaryDirectory directory;
  CompilePlan plan;
  std::chrono::microseconds time{700};
};

}  // namespace

TEST_CASE("of a build the artifact of the kind asked for is written, the log is shown") {
  Scene scene;
  Library().result.log = "k.cu(1): warning: unused";
  const Said said = scene.Tell();
  CHECK(said.exit_code == 0);
  CHECK(scene.Written() == "cubin");
  CHECK(said.errors == "k.cu(1): warning: unused\n");
  CHECK(said.output.empty());
  scene.plan.kind = Kind::kPtx;
  CHECK(scene.Tell().exit_code == 0);
  CHECK(scene.Written() == "ptx");
}

TEST_CASE("the summary of a build is one line with its outcome and time, or more if asked for") {
  Scene scene;
  CHECK(scene.Tell().errors.empty());
  scene.plan.summary = Summary::kLine;
  CHECK(scene.Tell().errors == "built 0.7 ms\n");
  scene.time = std::chrono::milliseconds(2630);
  Library().result.outcome = CCCL_CACHE_UNCACHEABLE;
  Library().result.reason = "the source has __TIME__";
  CHECK(scene.Tell().errors == "uncacheable 2.6 s: the source has __TIME__\n");
  scene.plan.summary = Summary::kDetails;
  CHECK(Has(scene.Tell().errors, "\ntoolchain "));
}

TEST_CASE("with --json the log of a build that compiled is told once, in the object") {
  Scene scene;
  Library().result.log = "a warning";
  Library().result.lowered_names = {{"f<int>", "_Z1fIiEvv"}};
  const Said said = scene.Tell({.json = true});
  CHECK(said.errors.empty());
  CHECK(Has(said.output, "\"log\": \"a warning\""));
  CHECK(Has(said.output, "\"f<int>\": \"_Z1fIiEvv\""));
  CHECK(Has(said.output, "\"sha256\": \"01fe\""));
  CHECK(Has(said.output, "\"kind\": \"cubin\""));
  CHECK_FALSE(Has(said.output, "\"error\""));
}

TEST_CASE("code that does not compile leaves the file alone and says the log, then a hint") {
  Scene scene;
  std::ofstream(scene.plan.output) << "old";
  Library().result.outcome = CCCL_CACHE_FAILED;
  Library().result.log = "error: unrecognized option --frob";
  for (const bool json : {false, true}) {
    const Said said = scene.Tell({.json = json});
    CHECK(said.exit_code == 1);
    CHECK(said.errors.starts_with("error: unrecognized option --frob\ncccl-cache-cli: this "));
    CHECK(Has(said.output, "\"outcome\": \"failed\"") == json);
  }
  CHECK(scene.Written() == "old");
}

TEST_CASE("a compiler without a word is spoken for by its error's name") {
  const Scene scene;
  Library().result = {};
  Library().result.outcome = CCCL_CACHE_FAILED;
  Library().result.reason = "NVRTC_ERROR_INVALID_INPUT";
  CHECK(Has(scene.Tell().errors, "cccl-cache-cli: does not compile: NVRTC_ERROR_INVALID_INPUT\n"));
}

TEST_CASE("a compiler that made something else than was asked for is an error with a way out") {
  Scene scene;
  scene.plan.kind = Kind::kLtoIr;
  const Said said = scene.Tell({.json = true});
  CHECK(said.exit_code == 5);
  CHECK(Has(said.errors, "the compiler made no ltoir for sm_90: another --arch"));
  CHECK(Has(said.output, "\"error\": {"));
  CHECK_FALSE(std::filesystem::exists(scene.plan.output));
}

TEST_CASE("a file that can't be written is an error though the build is done") {
  Scene scene;
  scene.plan.output = scene.directory / "absent/out";
  const Said said = scene.Tell();
  CHECK(said.exit_code == 5);
  CHECK(Has(said.errors, "can't create " + scene.plan.output));
}
