// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/survey.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <set>

#include "daemon/toolchain/finder.h"
#include "tests/unit/toolchain/toolchain_fixture.h"

namespace survey_test {

using namespace cccl_cache::daemon;
using Catch::Matchers::Contains;

namespace {

Installation FoundIn(const TempTree& tree) {
  FoundInstallations found = FindInstallations(Roots({tree.Path("cuda")}));
  REQUIRE(found.installations.size() == 1);
  return found.installations.front();
}

Result<Survey> Look(const TempTree& tree) { return TakeSurvey(FoundIn(tree), geteuid(), nullptr); }

std::vector<std::string> HeaderNames(const Survey& survey) {
  std::vector<std::string> names;
  for (const SurveyedFile& file : survey.headers.files) names.push_back(file.name);
  return names;
}

}  // namespace

TEST_CASE("a survey lists each header once, by name, and no files of Python") {
  const TempTree tree;
  tree.Toolkit("cuda", 13, 0);
  tree.Write("cuda/include/__pycache__/x.pyc", "");
  REQUIRE(mkfifo(tree.Path("cuda/include/fifo").c_str(), 0600) == 0);
  const auto survey = Look(tree);
  REQUIRE(survey.ok());
  CHECK(HeaderNames(*survey) ==
        std::vector<std::string>{"0/cccl/cub/cub.cuh", "0/cuda_runtime.h", "0/cuda_runtime_api.h"});
  CHECK(survey->headers.shape == "0\n1=0/cccl\n");
  CHECK(survey->nvrtc.files.size() == 2);
  CHECK(survey->nvvm.files.size() == 2);
  CHECK(survey->nvjitlink.files.size() == 1);
}

TEST_CASE("two surveys of the same files agree; one after a change differs") {
  const TempTree tree;
  tree.Toolkit("cuda", 13, 0);
  const auto before = Look(tree);
  REQUIRE(before.ok());
  CHECK(Look(tree)->stamps == before->stamps);
  SECTION("a header that grew") { tree.Write("cuda/include/cuda_runtime.h", "runtime and more"); }
  SECTION("a new header") { tree.Write("cuda/include/deep/new.h", ""); }
  SECTION("a header that is gone") { tree.Remove("cuda/include/cccl/cub/cub.cuh"); }
  SECTION("a library replaced by one of the same size") {
    tree.Write("cuda/lib/new", "COMPILER");
    tree.Rename("cuda/lib/new", "cuda/lib/libnvrtc.so.13");
  }
  SECTION("another libdevice") {
    tree.Write("cuda/nvvm/libdevice/libdevice.10.bc", "another libdevice");
  }
  CHECK(Look(tree)->stamps != before->stamps);
}

TEST_CASE("headers behind links are listed under the link's name") {
  const TempTree tree;
  tree.Toolkit("cuda", 13, 0);
  tree.Write("elsewhere/thrust/sort.h", "sort");
  tree.Link("cuda/include/thrust", tree.Path("elsewhere/thrust"));
  tree.Link("cuda/include/dangling.h", "absent");
  tree.Link("cuda/include/cccl/again", "cub");
  const auto survey = Look(tree);
  REQUIRE(survey.ok());
  CHECK(HeaderNames(*survey) ==
        std::vector<std::string>{"0/cccl/again/cub.cuh", "0/cccl/cub/cub.cuh", "0/cuda_runtime.h",
                                 "0/cuda_runtime_api.h", "0/thrust/sort.h"});
}

TEST_CASE("a circular header tree is refused, not walked for ever") {
  const TempTree tree;
  tree.Toolkit("cuda", 13, 0);
  tree.Link("cuda/include/cccl/loop", "..");
  const auto survey = Look(tree);
  REQUIRE_FALSE(survey.ok());
  CHECK_THAT(survey.error().message, Catch::Contains("levels"));
}

TEST_CASE("one header, directory or link target that others can write rejects the installation") {
  const TempTree tree;
  tree.Toolkit("cuda", 13, 0);
  tree.Write("elsewhere/extra.h", "");
  std::string culprit;
  SECTION("a header") { culprit = "cuda/include/cccl/cub/cub.cuh"; }
  SECTION("a directory of headers") { culprit = "cuda/include/cccl/cub"; }
  SECTION("a library") { culprit = "cuda/lib/libnvJitLink.so.13"; }
  SECTION("the directory of the libraries") { culprit = "cuda/lib"; }
  SECTION("the target of a link") {
    tree.Link("cuda/include/extra.h", tree.Path("elsewhere/extra.h"));
    culprit = GENERATE("elsewhere", "elsewhere/extra.h");
  }
  REQUIRE(Look(tree).ok());
  tree.Mode(culprit, 0777);
  const auto survey = Look(tree);
  REQUIRE_FALSE(survey.ok());
  CHECK(survey.error().code == ErrorCode::kDenied);
  CHECK_THAT(survey.error().message, Catch::StartsWith(tree.Path(culprit) + " can be written"));
  CHECK_THAT(survey.error().message, Contains("mode 0777") && Contains("chmod -R go-w"));
}

TEST_CASE("a sticky directory that all users may write can't hold headers") {
  const TempTree tree;
  tree.Toolkit("cuda", 13, 0);
  tree.Mode("cuda/include", 01777);
  CHECK_FALSE(Look(tree).ok());
}

TEST_CASE("an alias is listed only if no other user can change its target") {
  const TempTree tree;
  tree.Toolkit("cuda", 13, 0);
  tree.Link("safe/link", tree.Path("cuda/include"));
  tree.Link("open/link", tree.Path("cuda/include"));
  tree.Link("safe/wrong", tree.Path("cuda/lib"));
  tree.Mode("open", 0777);
  Installation installation = FoundIn(tree);
  installation.headers[0].aliases = {tree.Path("safe/link"), tree.Path("open/link"),
                                     tree.Path("safe/wrong"), tree.Path("safe/absent")};
  const auto survey = TakeSurvey(installation, geteuid(), nullptr);
  REQUIRE(survey.ok());
  CHECK(survey->header_directories[0].aliases == std::vector{tree.Path("safe/link")});
}

TEST_CASE("the error of an installation without one of its directories names the directory") {
  const TempTree tree;
  tree.Toolkit("cuda", 13, 0);
  const Installation installation = FoundIn(tree);
  tree.Remove("cuda/include/cccl");
  const auto survey = TakeSurvey(installation, geteuid(), nullptr);
  REQUIRE_FALSE(survey.ok());
  CHECK(survey.error().code == ErrorCode::kUnavailable);
  CHECK_THAT(survey.error().message, Contains(tree.Path("cuda/include/cccl")));
}

TEST_CASE("every listed directory and every missing target of a link is watched") {
  struct Observer final : LookupObserver {
    void OnLookup(const std::string& directory, const std::string& name) override {
      looked_up.insert(directory + "/" + name);
    }
    void OnListing(const std::string& directory) override { listed.insert(directory); }

    std::set<std::string> looked_up;
    std::set<std::string> listed;
  } observer;
  const TempTree tree;
  tree.Toolkit("cuda", 13, 0);
  tree.Link("cuda/include/dangling.h", "../none");
  REQUIRE(TakeSurvey(FoundIn(tree), geteuid(), &observer).ok());
  CHECK(observer.looked_up.contains(tree.Path("cuda/none")));
  CHECK(observer.listed == std::set{tree.Path("cuda/include"), tree.Path("cuda/include/cccl"),
                                    tree.Path("cuda/include/cccl/cub")});
}

}  // namespace survey_test
