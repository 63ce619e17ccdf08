// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/plan/roots.h"

#include <catch2/catch.hpp>
#include <string>
#include <variant>
#include <vector>

#include "tests/unit/core/fakes.h"

namespace cccl_cache::daemon {
namespace {

using cccl_cache::NvrtcProgram;
using cccl_cache::ParsedOption;

class Scene {
 public:
  Scene() {
    program().name = "/home/someone/src/k.cu";
    toolchain_.headers = {{"/opt/cuda/include", {"/usr/local/cuda/include"}},
                          {"/opt/cuda/include/cccl", {}}};
  }

  NvrtcProgram& program() { return std::get<NvrtcProgram>(request_->program); }
  std::string& working_directory() { return request_->working_directory; }

  std::vector<Root> Roots(const std::vector<std::string>& options, RootLayout layout = {}) {
    const auto parsed = cccl_cache::ParseOptions(cccl_cache::BuildKind::kNvrtc, options);
    return LayOutRoots(*request_, std::get<std::vector<ParsedOption>>(parsed), toolchain_, layout);
  }
  /// The one of a single -I.
  Root Include(const std::string& path, RootLayout layout = {}) {
    const std::vector<Root> roots = Roots({"-I" + path}, layout);
    REQUIRE(roots.size() == 2);
    return roots[1];
  }

 private:
  std::shared_ptr<cccl_cache::BuildRequest> request_ = testing::MakeRequest("code");
  Toolchain toolchain_;
};

TEST_CASE("the program's own directory comes first, then each -I in its order") {
  Scene scene;
  const std::vector<Root> roots = scene.Roots({"-I/b", "-arch=sm_90", "--include-path=/a"});
  REQUIRE(roots.size() == 3);
  CHECK(roots[0].mount.target == "/home/someone/src");
  CHECK(roots[0].for_compiler.empty());
  CHECK(roots[1].mount.target == "/b");
  CHECK(roots[2].mount.target == "/a");
  CHECK(roots[2].mount.visible == "/cccl-root-2");
  CHECK(roots[2].for_compiler == "/cccl-root-2");
}

TEST_CASE("the toolchain's directories come last where they are asked for") {
  Scene scene;
  scene.program().append_toolchain_headers = true;
  const std::vector<Root> roots = scene.Roots({"-I/b"});
  REQUIRE(roots.size() == 4);
  CHECK(roots[2].mount.trusted);
  CHECK(roots[2].fingerprint.toolchain_directory == "0");
  CHECK(roots[3].fingerprint.toolchain_directory == "0/cccl");
}

TEST_CASE("a relative name is meant from the working directory, and leads nowhere without one") {
  Scene scene;
  scene.working_directory() = "/home/someone/";
  CHECK(scene.Include("inc/").mount.target == "/home/someone/inc");
  CHECK(scene.Include(".").mount.target == "/home/someone");
  scene.working_directory().clear();
  CHECK(scene.Include("inc").mount.target.empty());
  scene.program().name = "k.cu";
  CHECK(scene.Roots({})[0].mount.target.empty());
}

TEST_CASE("of a toolchain's directories the deepest that a name lies in is meant") {
  Scene scene;
  CHECK(scene.Include("/usr/local/cuda/include//").fingerprint.toolchain_directory == "0");
  CHECK(scene.Include("/opt/cuda/include/cccl/cub").fingerprint.toolchain_directory ==
        "0/cccl/cub");
  CHECK(scene.Include("/opt/cuda/include/thrust").fingerprint.toolchain_directory == "0/thrust");
  const Root alias = scene.Include("/usr/local/cuda/include/nv");
  CHECK(alias.mount.target == "/opt/cuda/include/nv");
  CHECK(alias.mount.trusted);
}

TEST_CASE("a name that only begins like a toolchain's directory, or leaves it, is not trusted") {
  Scene scene;
  for (const char* path : {"/opt/cuda/include2", "/opt/cuda", "/opt/cuda/include/../../../home",
                           "/opt/cuda/include/..", "opt/cuda/include"}) {
    INFO(path);
    const Root root = scene.Include(path);
    CHECK_FALSE(root.mount.trusted);
    CHECK(root.fingerprint.toolchain_directory.empty());
  }
  CHECK_FALSE(scene.Include("/opt/cuda/include", {.elsewhere = true}).mount.trusted);
}

TEST_CASE("where paths show, the compiler is given them as the client spells them") {
  Scene scene;
  scene.working_directory() = "/home/someone";
  const Root root = scene.Include("inc", {.path_dependent = true});
  CHECK(root.for_compiler == "inc");
  CHECK(root.mount.visible == "/home/someone/inc");
  CHECK(root.client_prefix == "inc/");
}

TEST_CASE("a program without a name has NVRTC's") {
  CHECK(ProgramName(NvrtcProgram{}) == "default_program");
}

}  // namespace
}  // namespace cccl_cache::daemon
