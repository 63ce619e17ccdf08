// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/plan/roots.h"

#include <catch2/catch.hpp>
#include <string>
#include <variant>
#include <vector>

#include "tests/unit/core/fakes.h"

namespace cccl_cache::daemon::roots_test {
namespace {

using cccl_cache::ArtifactKind;
using cccl_cache::NvrtcProgram;
using cccl_cache::ParsedOption;
using testing::MakeRequest;

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
  /// Returns the root of a single -I.
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

TEST_CASE("appended directories of the toolchain come last") {
  Scene scene;
  scene.program().append_toolchain_headers = true;
  const std::vector<Root> roots = scene.Roots({"-I/b"});
  REQUIRE(roots.size() == 4);
  CHECK(roots[2].mount.trusted);
  CHECK(roots[2].fingerprint.toolchain_directory == "0");
  CHECK(roots[3].fingerprint.toolchain_directory == "0/cccl");
}

TEST_CASE("a relative name is below the working directory, and nowhere without one") {
  Scene scene;
  scene.working_directory() = "/home/someone/";
  CHECK(scene.Include("inc/").mount.target == "/home/someone/inc");
  CHECK(scene.Include(".").mount.target == "/home/someone");
  scene.working_directory().clear();
  CHECK(scene.Include("inc").mount.target.empty());
  scene.program().name = "k.cu";
  CHECK(scene.Roots({})[0].mount.target.empty());
}

TEST_CASE("a name belongs to the deepest toolchain directory that contains it") {
  Scene scene;
  CHECK(scene.Include("/usr/local/cuda/include//").fingerprint.toolchain_directory == "0");
  CHECK(scene.Include("/opt/cuda/include/cccl/cub").fingerprint.toolchain_directory ==
        "0/cccl/cub");
  CHECK(scene.Include("/opt/cuda/include/thrust").fingerprint.toolchain_directory == "0/thrust");
  const Root alias = scene.Include("/usr/local/cuda/include/nv");
  CHECK(alias.mount.target == "/opt/cuda/include/nv");
  CHECK(alias.mount.trusted);
}

TEST_CASE("a name that only begins like a toolchain directory, or leaves it, is not trusted") {
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

TEST_CASE("a path-dependent build passes paths to the compiler as the client spells them") {
  Scene scene;
  scene.working_directory() = "/home/someone";
  const Root root = scene.Include("inc", {.path_dependent = true});
  CHECK(root.for_compiler == "inc");
  CHECK(root.mount.visible == "/home/someone/inc");
  CHECK(root.client_prefix == "inc/");
}

TEST_CASE("a program without a name has NVRTC's default name") {
  CHECK(ProgramName(NvrtcProgram{}) == "default_program");
}

BuildPlan PlanWith(std::vector<std::string> client_prefixes) {
  BuildPlan plan;
  plan.job.request = MakeRequest("code");
  plan.client_prefixes = std::move(client_prefixes);
  return plan;
}

TEST_CASE("canonical names in a log are replaced by the client's names") {
  const BuildPlan plan = PlanWith({"src/", "inc/", "/abs/inc/"});
  CHECK(WithClientNames(plan, "/cccl-root-0/k.cu(1): error\n/cccl-root-1/x.h(2): warning") ==
        "src/k.cu(1): error\ninc/x.h(2): warning");
  CHECK(WithClientNames(plan, "/cccl-root-2/y.h /cccl-root-77/z /cccl-root-") ==
        "/abs/inc/y.h /cccl-root-77/z /cccl-root-");
  CHECK(WithClientNames(PlanWith({""}), "/cccl-root-0/default_program(3)") == "default_program(3)");
}

TEST_CASE("a log of a build under the real paths is unchanged") {
  BuildPlan plan = PlanWith({"src/"});
  plan.path_dependent = true;
  CHECK(WithClientNames(plan, "/cccl-root-0/k.cu(1)") == "/cccl-root-0/k.cu(1)");
}

TEST_CASE("canonical names are noticed in a cubin and in the numbers of a PTX") {
  const BuildPlan plan = PlanWith({""});
  Artifact artifact;
  artifact.parts = {{cccl_cache::ArtifactKind::kCubin, "...../cccl-root-0/k.cu...", {}}};
  CHECK(ShowsCanonicalNames(plan, artifact));
  artifact.parts = {{cccl_cache::ArtifactKind::kPtx,
                     ".b8 s[] = {47, 99, 99, 99, 108, 45, 114, 111, 111, 116, 45, 48}",
                     {}}};
  CHECK(ShowsCanonicalNames(plan, artifact));
  artifact.parts = {{cccl_cache::ArtifactKind::kLtoIr, "/cccl-root-0/", {}}};
  CHECK_FALSE(ShowsCanonicalNames(plan, artifact));
}

Artifact Of(ArtifactKind kind, const std::string& bytes) {
  Artifact artifact;
  artifact.parts.push_back({kind, bytes, {}});
  return artifact;
}

TEST_CASE("ShownText finds a text in PTX and cubins") {
  const ShownText text("/a");
  for (const ArtifactKind kind : {ArtifactKind::kPtx, ArtifactKind::kCubin}) {
    CHECK(text.In(Of(kind, "x /a y")));
    CHECK_FALSE(text.In(Of(kind, "x / a y")));
  }
}

TEST_CASE("ShownText finds a text in a string constant of PTX, which is written as numbers") {
  const ShownText text("/a");
  CHECK(text.In(Of(ArtifactKind::kPtx, ".b8 x[2] = {47, 97};")));
  CHECK(text.In(Of(ArtifactKind::kPtx, ".b8 x[2] = {47,97};")));
  CHECK_FALSE(text.In(Of(ArtifactKind::kPtx, ".b8 x[2] = {47, 98};")));
  // A cubin has string constants as bytes.
  CHECK_FALSE(text.In(Of(ArtifactKind::kCubin, "47, 97")));
}

TEST_CASE("InStrings finds a text only in string constants of PTX") {
  const ShownText text("/a");
  CHECK(text.InStrings(Of(ArtifactKind::kPtx, "{47, 97}")));
  CHECK(text.InStrings(Of(ArtifactKind::kPtx, "{47,97}")));
  CHECK_FALSE(text.InStrings(Of(ArtifactKind::kPtx, "/a")));
  CHECK_FALSE(text.InStrings(Of(ArtifactKind::kCubin, "47, 97 /a")));
}

TEST_CASE("a name in LTO-IR or OptiX-IR does not count, because both always contain names") {
  const ShownText text("/a");
  CHECK_FALSE(text.In(Of(ArtifactKind::kLtoIr, "/a")));
  CHECK_FALSE(text.In(Of(ArtifactKind::kOptixIr, "/a")));
}

TEST_CASE("one part that shows a text is enough") {
  Artifact artifact = Of(ArtifactKind::kLtoIr, "/a");
  CHECK_FALSE(ShownText("/a").In(artifact));
  artifact.parts.push_back({ArtifactKind::kCubin, "/a", {}});
  CHECK(ShownText("/a").In(artifact));
  CHECK_FALSE(ShownText("/a").In(Artifact()));
}

TEST_CASE("the name of the headers in the compiler's library is the client's directory in a log") {
  auto toolchain = std::make_shared<Toolchain>(*testing::MakeToolchain());
  toolchain->major = 13;
  toolchain->minor = 3;
  for (const char* source : {"code", "const char* file = __FILE__;"}) {
    auto request = testing::MakeRequest(source);
    std::get<NvrtcProgram>(request->program).options = {"--use-bundled-headers=/tmp/x1"};
    const BuildPlan plan = *PlanBuild(request, toolchain, {});
    CHECK(WithClientNames(plan, "/cccl-root-bundled/a.h(1): warning") == "/tmp/x1/a.h(1): warning");
    Artifact artifact;
    artifact.parts.push_back({ArtifactKind::kPtx, "\"/cccl-root-bundled/a.h\""});
    CHECK(ShowsCanonicalNames(plan, artifact));
  }
}

}  // namespace
}  // namespace cccl_cache::daemon::roots_test
