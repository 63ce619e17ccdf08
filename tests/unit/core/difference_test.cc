// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/explain/difference.h"

#include <catch2/catch.hpp>
#include <string>

namespace cccl_cache::daemon::difference_test {
namespace {

using cccl_cache::Sha256;

PastBuild Kernel() {
  PastBuild build;
  build.program = "k.cu";
  build.source = {"k.cu", Sha256("source"), 10, 0};
  build.options = {"--gpu-architecture=sm_90", "--std=c++17"};
  build.headers = {{"a.h", Sha256("a"), 3, 0}};
  build.name_expressions = {"f<int>"};
  build.directories = {{"", "outside", "/here"}, {"inc/", "outside", "/here/inc"}};
  build.client_prefixes = {"", "inc/"};
  build.toolchain = "13.0 (abc)";
  return build;
}

PastBuildPtr Kept(PastBuild build) { return std::make_shared<const PastBuild>(std::move(build)); }

TEST_CASE("equal builds do not differ") { CHECK(Differences(Kernel(), Kernel()).empty()); }

TEST_CASE("each different field is reported with its old and new value") {
  const PastBuild was = Kernel();
  PastBuild is = Kernel();
  Difference expected;
  SECTION("an option that changed") {
    is.options[1] = "--std=c++20";
    expected = {DifferenceField::kOption, "--std", "--std=c++17", "--std=c++20"};
  }
  SECTION("an added option") {
    is.options.emplace_back("-lineinfo");
    expected = {DifferenceField::kOption, "-lineinfo", "", "-lineinfo"};
  }
  SECTION("a removed option") {
    is.options.pop_back();
    expected = {DifferenceField::kOption, "--std", "--std=c++17", ""};
  }
  SECTION("an option that is given once more") {
    is.options.push_back(is.options[1]);
    expected = {DifferenceField::kOption, "--std", "", "--std=c++17"};
  }
  SECTION("the order of options") {
    std::swap(is.options[0], is.options[1]);
    expected = {DifferenceField::kOption, "their order", "--gpu-architecture=sm_90 --std=c++17",
                "--std=c++17 --gpu-architecture=sm_90"};
  }
  SECTION("the source") {
    is.source = {"k.cu", Sha256("edited"), 11, 0};
    expected = {DifferenceField::kSource, "k.cu", Sha256("source").Hex(),
                Sha256("edited").Hex(),   10,     11};
  }
  SECTION("a changed inline header") {
    is.headers[0] = {"a.h", Sha256("b"), 4, 0};
    expected = {DifferenceField::kInlineHeader, "a.h", Sha256("a").Hex(), Sha256("b").Hex(), 3, 4};
  }
  SECTION("a removed inline header") {
    is.headers.clear();
    expected = {DifferenceField::kInlineHeader, "a.h", Sha256("a").Hex(), "", 3, 0};
  }
  SECTION("a name expression") {
    is.name_expressions.emplace_back("f<long>");
    expected = {DifferenceField::kNameExpression, "f<long>", "", "f<long>"};
  }
  SECTION("a directory") {
    is.directories[1] = {"cuda/", "toolchain 0", ""};
    expected = {DifferenceField::kDirectory, "number 1", "inc/", "cuda/"};
  }
  SECTION("the program's name") {
    is.program = "l.cu";
    expected = {DifferenceField::kProgramName, "", "k.cu", "l.cu"};
  }
  SECTION("the toolchain") {
    is.compiler = Sha256("another");
    is.toolchain = "13.1 (def)";
    expected = {DifferenceField::kToolchain, "", "13.0 (abc)", "13.1 (def)"};
  }
  CHECK(Differences(was, is) == std::vector<Difference>{expected});
}

TEST_CASE("directories that the fingerprint does not distinguish are no difference") {
  PastBuild is = Kernel();
  is.directories[1] = {"/elsewhere/", "outside", "/elsewhere"};
  is.working_directory = "/elsewhere";
  CHECK(Differences(Kernel(), is).empty());
  is.path_dependent = true;
  CHECK(Differences(Kernel(), is).empty());
  PastBuild was = Kernel();
  was.path_dependent = true;
  CHECK(Differences(was, is) ==
        std::vector<Difference>{
            {DifferenceField::kDirectory, "number 1", "/here/inc", "/elsewhere"},
            {DifferenceField::kDirectory, "the working directory", "", "/elsewhere"}});
}

TEST_CASE("an added or removed directory is reported, and the directories after it are not") {
  PastBuild was = Kernel();
  was.directories.push_back({"/cuda/include/", "toolchain 0", "/cuda/include"});
  was.directories.push_back({"/cuda/include/cccl/", "toolchain 1", "/cuda/include/cccl"});
  PastBuild is = was;
  const SearchDirectory empty = {"empty/", "outside", "/here/empty"};
  is.directories.insert(is.directories.begin() + 1, empty);
  const bool show_paths = GENERATE(false, true);
  was.path_dependent = is.path_dependent = show_paths;
  CHECK(Differences(was, is) ==
        std::vector<Difference>{{DifferenceField::kDirectory, "empty/", "", "empty/"}});
  CHECK(Differences(is, was) ==
        std::vector<Difference>{{DifferenceField::kDirectory, "empty/", "empty/", ""}});
}

TEST_CASE("inputs of a link differ by contents, form, number and order") {
  PastBuild was;
  was.kind = cccl_cache::BuildKind::kLink;
  was.inputs = {{"a.ptx", Sha256("a"), 0, 2}, {"b.ptx", Sha256("b"), 0, 2}};
  PastBuild is = was;
  is.inputs[1].digest = Sha256("c");
  CHECK(Differences(was, is) == std::vector<Difference>{{DifferenceField::kInput, "b.ptx",
                                                         Sha256("b").Hex(), Sha256("c").Hex()}});
  is = was;
  is.inputs[1].form = 3;
  CHECK(Differences(was, is) ==
        std::vector<Difference>{{DifferenceField::kInput, "b.ptx", "form 2", "form 3"}});
  is = was;
  is.inputs.pop_back();
  CHECK(Differences(was, is) ==
        std::vector<Difference>{{DifferenceField::kInput, "b.ptx", Sha256("b").Hex(), ""}});
  is = was;
  std::swap(is.inputs[0], is.inputs[1]);
  CHECK(Differences(was, is).size() == 1);
}

TEST_CASE("a file is reported under the client's own name with both digests") {
  PastBuild was = Kernel();
  PastBuild is = Kernel();
  auto before = std::make_shared<Closure>();
  before->entries = {{{0, "x.h"}, FileKind::kAbsent, {}, 0},
                     {{1, "x.h"}, FileKind::kFile, Sha256("one"), 1}};
  auto after = std::make_shared<Closure>(*before);
  after->entries[1].digest = Sha256("two");
  after->entries.push_back({{1, "new.h"}, FileKind::kFile, Sha256("new"), 2});
  was.closure = before;
  is.closure = after;
  CHECK(Differences(was, is) ==
        std::vector<Difference>{
            {DifferenceField::kHeader, "inc/x.h", Sha256("one").Hex(), Sha256("two").Hex()}});
  after->entries[0] = {{0, "x.h"}, FileKind::kFile, Sha256("three"), 0};
  const auto found = Differences(was, is);
  REQUIRE(found.size() == 2);
  CHECK(found[0].was == "absent");
}

TEST_CASE("the nearest build is the one of the same program that differs least") {
  PastBuild other_option = Kernel();
  other_option.options.emplace_back("-lineinfo");
  PastBuild other_source = other_option;
  other_source.source.digest = Sha256("edited");
  PastBuild other_program = Kernel();
  other_program.program = "l.cu";
  other_program.source.digest = Sha256("l");
  PastBuild failed = Kernel();
  failed.outcome = Outcome::kFailed;
  PastBuild link;
  link.kind = cccl_cache::BuildKind::kLink;
  const auto nearest = Kept(other_option);
  const std::vector<PastBuildPtr> builds = {Kept(failed), Kept(other_source),
                                            nearest,      Kept(other_option),
                                            Kept(link),   Kept(other_program)};
  CHECK(Nearest(builds, Kernel()) == nearest);
  CHECK(Nearest({}, Kernel()) == nullptr);
  const std::vector<PastBuildPtr> unlike = {Kept(failed), Kept(link), Kept(other_program)};
  CHECK(Nearest(unlike, Kernel()) == nullptr);
}

TEST_CASE("a build that differs only in its directories is nearer than one with another option") {
  PastBuild asked = Kernel();
  asked.path_dependent = true;
  asked.path_options = {"--generate-line-info"};
  asked.options.emplace_back("--generate-line-info");
  asked.working_directory = "/here";
  PastBuild twin = asked;
  twin.working_directory = "/there";
  twin.directories = {{"", "outside", "/there"}, {"inc/", "outside", "/there/inc"}};
  const auto nearest = Kept(twin);
  const std::vector<PastBuildPtr> builds = {Kept(Kernel()), nearest, Kept(Kernel())};
  CHECK(Nearest(builds, asked) == nearest);
  const auto differences = Differences(twin, asked);
  CHECK(differences == std::vector<Difference>{{DifferenceField::kDirectory,
                                                "the working directory", "/there", "/here"}});
  const std::string why = WhyPathsCount(twin, asked, differences);
  CHECK(why.find("by --generate-line-info") != std::string::npos);
  asked.path_options.clear();
  CHECK(WhyPathsCount(twin, asked, differences).find("__FILE__") != std::string::npos);
  CHECK(WhyPathsCount(twin, asked, {}).empty());
  CHECK(WhyPathsCount(Kernel(), asked, differences).empty());
  // Both directories differ, but they count as one difference.
  twin.working_directory = asked.working_directory;
  const auto absolute = Kept(twin);
  CHECK(Differences(twin, asked).size() == 2);
  CHECK(Nearest(std::vector<PastBuildPtr>{Kept(Kernel()), absolute}, asked) == absolute);
}

TEST_CASE("a program under another name is recognised by its source") {
  PastBuild renamed = Kernel();
  renamed.program = "l.cu";
  CHECK(Nearest(std::vector<PastBuildPtr>{Kept(renamed)}, Kernel()) != nullptr);
}

}  // namespace
}  // namespace cccl_cache::daemon::difference_test
