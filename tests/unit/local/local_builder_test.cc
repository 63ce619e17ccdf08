// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/local/local_builder.h"

#include <catch2/catch.hpp>

#include "tests/support/temporary_directory.h"

namespace cccl_cache::daemon {
namespace {

using cccl_cache::BuildRequest;

struct Scene {
  Scene() {
    configuration.toolchain_search = ToolchainSearch::kRoots;
    configuration.toolchain_root = {directory / "no toolchain"};
  }

  /// Why nothing is built where there is no toolchain.
  [[nodiscard]] Error Build(const std::vector<std::string>& options) const {
    LocalBuilder builder({.configuration = configuration,
                          .worker = directory / "no worker",
                          .identities = directory / "identities",
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

TEST_CASE("without a toolchain a build is refused with where it was looked for") {
  const Scene scene;
  const Error error = scene.Build({"-arch=sm_90"});
  CHECK(error.code == ErrorCode::kToolchainNotFound);
}

TEST_CASE("without a toolchain a compiler that would write files is refused as well") {
  const Scene scene;
  CHECK(scene.Build({"-arch=sm_90", "--use-pch=k.pch"}).code == ErrorCode::kToolchainNotFound);
}

}  // namespace
}  // namespace cccl_cache::daemon
