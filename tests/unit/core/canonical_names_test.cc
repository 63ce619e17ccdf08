// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "daemon/core/plan/roots.h"
#include "tests/unit/core/fakes.h"

namespace cccl_cache::daemon {
namespace {

using testing::MakeRequest;

BuildPlan PlanWith(std::vector<std::string> client_prefixes) {
  BuildPlan plan;
  plan.job.request = MakeRequest("code");
  plan.client_prefixes = std::move(client_prefixes);
  return plan;
}

TEST_CASE("logs carry the client's own names") {
  const BuildPlan plan = PlanWith({"src/", "inc/", "/abs/inc/"});
  CHECK(WithClientNames(plan, "/cccl-root-0/k.cu(1): error\n/cccl-root-1/x.h(2): warning") ==
        "src/k.cu(1): error\ninc/x.h(2): warning");
  CHECK(WithClientNames(plan, "/cccl-root-2/y.h /cccl-root-77/z /cccl-root-") ==
        "/abs/inc/y.h /cccl-root-77/z /cccl-root-");
  CHECK(WithClientNames(PlanWith({""}), "/cccl-root-0/default_program(3)") == "default_program(3)");
}

TEST_CASE("a log of a build under the real paths is told as it is") {
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

}  // namespace
}  // namespace cccl_cache::daemon
