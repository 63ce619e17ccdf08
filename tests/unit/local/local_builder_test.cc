// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/local/local_builder.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/support/temporary_directory.h"

namespace cccl_cache::daemon::local_builder_test {
namespace {

using cccl_cache::BuildRequest;
using cccl_cache::UserCache;

struct Scene {
  Scene() {
    configuration.toolchain_search = ToolchainSearch::kRoots;
    configuration.toolchain_root = {directory / "no toolchain"};
  }

  /// Returns the error of a build without a toolchain.
  [[nodiscard]] Error Build(const std::vector<std::string>& options) const {
    LocalBuilder builder({.configuration = configuration,
                          .worker = directory / "no worker",
                          .facts = UserCache(directory / "facts", 1),
                          .packages = directory / "packages"});
    BuildRequest request;
    cccl_cache::NvrtcProgram program;
    program.source = "__global__ void k() {}";
    program.options = options;
    request.program = program;
    const auto answer = builder.Build(std::make_shared<const BuildRequest>(request));
    REQUIRE_FALSE(answer.ok());
    return answer.error();
  }

  TemporaryDirectory directory;
  Configuration configuration;
};

TEST_CASE("a build without a toolchain is refused") {
  const Scene scene;
  const Error error = scene.Build({"-arch=sm_90"});
  CHECK(error.code == ErrorCode::kToolchainNotFound);
}

TEST_CASE("a build that needs a plain compile is refused without a toolchain too") {
  const Scene scene;
  CHECK(scene.Build({"-arch=sm_90", "--use-pch=k.pch"}).code == ErrorCode::kToolchainNotFound);
}

BuildRequest Program(const std::vector<std::string>& options) {
  BuildRequest request;
  cccl_cache::NvrtcProgram program;
  program.source = "__global__ void k() {}";
  program.options = options;
  request.program = program;
  return request;
}

std::string Refusal(const BuildRequest& request) {
  const auto answer = CompilePlainly(std::make_shared<const BuildRequest>(request),
                                     std::make_shared<const Toolchain>());
  REQUIRE_FALSE(answer.ok());
  return answer.error().message;
}

TEST_CASE("a build with options that read or write files needs a plain compile") {
  CHECK(NeedsPlainCompile(Program({"-arch=sm_90", "--create-pch=k.pch"})));
  CHECK(NeedsPlainCompile(Program({"--use-pch=k.pch"})));
  CHECK_FALSE(NeedsPlainCompile(Program({"-arch=sm_90", "-I/include", "-G"})));
  CHECK_FALSE(NeedsPlainCompile(Program({})));
}

TEST_CASE("the error of an invalid text names its field") {
  BuildRequest request = Program({});
  std::get<cccl_cache::NvrtcProgram>(request.program).source = std::string("a\0b", 3);
  CHECK(Refusal(request).starts_with("nvrtc.source has a NUL byte at offset 1"));
}

TEST_CASE("the error of a working directory that can't be entered names it") {
  const TemporaryDirectory directory;
  BuildRequest request = Program({});
  request.working_directory = directory / "absent";
  CHECK(Refusal(request) == "the working directory " + directory / "absent" +
                                " can't be entered: No such file or directory");
}

TEST_CASE("a plain compile without an NVRTC fails with a log that names NVRTC") {
  const std::filesystem::path before = std::filesystem::current_path();
  const TemporaryDirectory directory;
  BuildRequest request = Program({});
  request.working_directory = directory.path();
  const auto answer = CompilePlainly(std::make_shared<const BuildRequest>(request),
                                     std::make_shared<const Toolchain>());
  REQUIRE(answer.ok());
  CHECK(answer->outcome == Outcome::kFailed);
  CHECK(answer->log.find("NVRTC") != std::string::npos);
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace cccl_cache::daemon::local_builder_test
