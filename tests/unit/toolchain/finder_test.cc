// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/finder.h"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/support/root.h"
#include "tests/unit/toolchain/toolchain_fixture.h"

namespace finder_test {

using namespace cccl_cache::daemon;
using cccl_cache::daemon::LibrariesIn;
using cccl_cache::daemon::LibraryName;

namespace {

constexpr uid_t kStranger = 54321;

/// Returns the error that a process of another user would get. Restores this thread's rights.
std::string ToldToStranger(const std::string& place) {
  REQUIRE(seteuid(kStranger) == 0);
  std::string told = WhyNothingFound(place);
  REQUIRE(seteuid(0) == 0);
  return told;
}

}  // namespace

TEST_CASE(
    "the error of a place without a toolchain distinguishes missing, not a directory, and empty") {
  const TempTree tree;
  tree.Directory("cuda");
  tree.Write("cuda/file", "");
  CHECK(WhyNothingFound(tree.Path("cuda/absent")).starts_with("it does not exist: name a CUDA"));
  CHECK(WhyNothingFound(tree.Path("cuda/file")).starts_with("it is no directory: "));
  CHECK(WhyNothingFound(tree.Path("cuda/file/below")).starts_with("it can't be reached (Not a"));
  CHECK(WhyNothingFound(tree.Path("cuda")).starts_with("it holds no libnvrtc.so.N"));
}

TEST_CASE("the error of a place that can't be entered names the directory and the user", "[root]") {
  RequireRoot();
  const TempTree tree;
  tree.Directory("home/cuda");
  tree.Mode("", 0755);
  const auto told = [&] { return ToldToStranger(tree.Path("home/cuda")); };
  const std::string who = "uid 54321, as which toolchains are looked for, may not ";
  CHECK(told().starts_with("it holds no"));
  tree.Mode("home/cuda", 0711);
  CHECK(told().starts_with(who + "list " + tree.Path("home/cuda") + ":"));
  tree.Mode("home/cuda", 0700);
  CHECK(told().starts_with(who + "enter " + tree.Path("home/cuda") + ":"));
  tree.Mode("home", 0700);
  CHECK(told().starts_with(who + "enter " + tree.Path("home") + ":"));
}

namespace {

Installation FindOnly(const SearchPlaces& places) {
  const FoundInstallations found = FindInstallations(places);
  for (const auto& [root, reason] : found.incomplete) UNSCOPED_INFO(root + ": " + reason);
  REQUIRE(found.installations.size() == 1);
  return found.installations.front();
}

std::vector<std::string> HeaderPaths(const Installation& installation) {
  std::vector<std::string> paths;
  for (const HeaderDirectory& headers : installation.headers) paths.push_back(headers.path);
  return paths;
}

bool HasAlias(const HeaderDirectory& headers, const std::string& alias) {
  return std::ranges::find(headers.aliases, alias) != headers.aliases.end();
}

}  // namespace

TEST_CASE("all parts and the version of a toolkit are found") {
  const TempTree tree;
  tree.Toolkit("cuda", 13, 0);
  const Installation found = FindOnly(Roots({tree.Path("cuda")}));
  CHECK(found.root == tree.Path("cuda"));
  CHECK(found.major == 13);
  CHECK(found.minor == 0);
  CHECK(found.nvrtc.path == tree.Path("cuda/lib/libnvrtc.so.13"));
  CHECK(found.builtins.path == tree.Path("cuda/lib/libnvrtc-builtins.so.13.0"));
  CHECK(found.nvjitlink.path == tree.Path("cuda/lib/libnvJitLink.so.13"));
  CHECK(found.nvvm.path == tree.Path("cuda/nvvm/lib64/libnvvm.so.4"));
  CHECK(found.libdevice.path == tree.Path("cuda/nvvm/libdevice/libdevice.10.bc"));
  CHECK(HeaderPaths(found) ==
        std::vector{tree.Path("cuda/include"), tree.Path("cuda/include/cccl")});
}

TEST_CASE("libraries and headers are found below targets/") {
  const TempTree tree;
  tree.Toolkit("cuda", 13, 0);
  tree.Directory("cuda/targets/x86_64-linux");
  tree.Rename("cuda/lib", "cuda/targets/x86_64-linux/lib");
  tree.Rename("cuda/include", "cuda/targets/x86_64-linux/include");
  const Installation found = FindOnly(Roots({tree.Path("cuda")}));
  CHECK(found.nvrtc.path == tree.Path("cuda/targets/x86_64-linux/lib/libnvrtc.so.13"));
  CHECK(HeaderPaths(found).front() == tree.Path("cuda/targets/x86_64-linux/include"));
}

TEST_CASE("the wheels of CUDA 12 are one installation") {
  const TempTree tree;
  tree.Wheels12("tree", 9);
  const Installation found = FindOnly(Roots({tree.Path("tree")}));
  CHECK(found.root == tree.Path("tree"));
  CHECK(found.major == 12);
  CHECK(found.minor == 9);
  CHECK(found.nvvm.path == tree.Path("tree/nvidia/cuda_nvcc/nvvm/lib64/libnvvm.so"));
  CHECK(found.libdevice.present());
  CHECK(HeaderPaths(found) == std::vector{tree.Path("tree/nvidia/cuda_runtime/include"),
                                          tree.Path("tree/nvidia/cuda_cccl/include"),
                                          tree.Path("tree/nvidia/cuda_nvcc/include")});
}

TEST_CASE("wheels of two majors in one virtual environment are two installations") {
  const TempTree tree;
  tree.Wheels12("venv/lib/python3.11/site-packages", 9);
  tree.Toolkit("venv/lib/python3.11/site-packages/nvidia/cu13", 13, 0);
  const FoundInstallations found = FindInstallations(Roots({tree.Path("venv")}));
  REQUIRE(found.installations.size() == 2);
  CHECK(found.installations[0].root == tree.Path("venv/lib/python3.11/site-packages/nvidia/cu13"));
  CHECK(found.installations[1].major == 12);
  CHECK(found.incomplete.empty());
}

TEST_CASE("the system's Python packages are searched") {
  const TempTree tree;
  tree.Wheels12("lib/python3/dist-packages", 9);
  SearchPlaces places = Roots({});
  places.python_prefixes = {tree.Path("lib")};
  CHECK(FindOnly(places).minor == 9);
}

TEST_CASE("a program's Python packages are searched, and are not reported if they lack CUDA") {
  const TempTree tree;
  tree.Wheels12("venv/lib/python3.11/site-packages", 9);
  SearchPlaces places = Roots({});
  places.packages = {tree.Path("nothing"), tree.Path("venv/lib/python3.11/site-packages")};
  CHECK(FindOnly(places).minor == 9);
}

TEST_CASE("a directory that contains only libraries is an installation without headers") {
  const TempTree tree;
  tree.Write("libraries/libnvrtc.so.13", "");
  tree.Write("libraries/libnvrtc-builtins.so.13.1", "");
  const Installation found = FindOnly(Roots({tree.Path("libraries")}));
  CHECK(found.minor == 1);
  CHECK(found.headers.empty());
  CHECK_FALSE(found.nvjitlink.present());
  CHECK_FALSE(found.nvvm.present());
}

TEST_CASE("CUDA_HOME is searched before the toolkits in /usr/local") {
  const TempTree tree;
  tree.Toolkit("home", 12, 9);
  tree.Toolkit("local/cuda-13.0", 13, 0);
  tree.Toolkit("local/other", 13, 1);
  SearchPlaces places = Roots({});
  places.cuda_homes = {tree.Path("home")};
  places.toolkit_parents = {tree.Path("local")};
  const FoundInstallations found = FindInstallations(places);
  REQUIRE(found.installations.size() == 2);
  CHECK(found.installations[0].root == tree.Path("home"));
  CHECK(found.installations[1].root == tree.Path("local/cuda-13.0"));
}

TEST_CASE("a distribution's packages are found by soname, with the headers of their major only") {
  const TempTree tree;
  tree.Write("lib/libnvrtc.so.12.4.127", "");
  tree.Link("lib/libnvrtc.so.12", "libnvrtc.so.12.4.127");
  tree.Write("lib/libnvrtc-builtins.so.12.4", "");
  tree.Write("lib/libnvrtc-builtins.so.12.6", "");
  tree.Write("lib/libnvrtc.so.11.2", "");
  tree.Write("lib/libnvrtc-builtins.so.11.8", "");
  tree.Write("lib/libnvJitLink.so.12", "");
  tree.Write("lib/libnvvm.so.4", "");
  tree.Write("libdevice/libdevice.10.bc", "");
  tree.Write("include/cuda_runtime.h", "");
  tree.Write("include/cuda_runtime_api.h", "/* */\n#define CUDART_VERSION  12040\n");
  SearchPlaces places;
  places.multiarch = {{.libraries = tree.Path("lib"),
                       .headers = tree.Path("include"),
                       .libdevice = {tree.Path("libdevice")}}};
  const FoundInstallations found = FindInstallations(places);
  REQUIRE(found.installations.size() == 2);
  const Installation& newer = found.installations[0];
  CHECK(newer.root == tree.Path("lib"));
  CHECK(newer.minor == 4);
  CHECK(newer.nvrtc.path == tree.Path("lib/libnvrtc.so.12.4.127"));
  CHECK(newer.nvvm.present());
  CHECK(newer.libdevice.present());
  CHECK(HeaderPaths(newer) == std::vector{tree.Path("include")});
  const Installation& older = found.installations[1];
  CHECK(older.major == 11);
  CHECK(older.minor == 8);
  CHECK(older.headers.empty());
  CHECK_FALSE(older.nvvm.present());
}

TEST_CASE("one toolkit under several names is one installation with all names") {
  const TempTree tree;
  tree.Toolkit("local/cuda-13.0", 13, 0);
  tree.Link("local/cuda-13.0/targets/x86_64-linux/include", "../../include");
  tree.Link("alternatives/cuda", tree.Path("local/cuda-13.0"));
  tree.Link("local/cuda", tree.Path("alternatives/cuda"));
  tree.Link("home", "local/cuda-13.0");
  SearchPlaces places = Roots({});
  places.cuda_homes = {tree.Path("home")};
  places.toolkit_parents = {tree.Path("local")};
  const Installation found = FindOnly(places);
  CHECK(found.root == tree.Path("local/cuda-13.0"));
  REQUIRE(found.headers.size() == 2);
  CHECK(found.headers[0].path == tree.Path("local/cuda-13.0/include"));
  for (const char* alias : {"home/include", "local/cuda/include", "alternatives/cuda/include",
                            "local/cuda-13.0/targets/x86_64-linux/include",
                            "local/cuda/targets/x86_64-linux/include"}) {
    CAPTURE(alias);
    CHECK(HasAlias(found.headers[0], tree.Path(alias)));
  }
  CHECK(HasAlias(found.headers[1], tree.Path("local/cuda/include/cccl")));
}

TEST_CASE(
    "an NVRTC without its builtins is reported as incomplete, and its nvJitLink still counts") {
  const TempTree tree;
  tree.Toolkit("cuda", 13, 0);
  tree.Remove("cuda/lib/libnvrtc-builtins.so.13.0");
  const FoundInstallations found = FindInstallations(Roots({tree.Path("cuda")}));
  REQUIRE(found.installations.size() == 1);
  CHECK_FALSE(found.installations[0].nvrtc.present());
  CHECK(found.installations[0].nvjitlink.present());
  REQUIRE(found.incomplete.size() == 1);
  CHECK_THAT(found.incomplete[0].reason, Catch::Contains("libnvrtc-builtins.so.13"));
}

TEST_CASE("a libNVVM without NVRTC and nvJitLink is incomplete") {
  const TempTree tree;
  tree.Write("cuda/nvvm/lib64/libnvvm.so.4", "");
  const FoundInstallations found = FindInstallations(Roots({tree.Path("cuda")}));
  CHECK(found.installations.empty());
  REQUIRE(found.incomplete.size() == 1);
  CHECK_THAT(found.incomplete[0].reason, Catch::Contains("neither NVRTC nor nvJitLink"));
}

TEST_CASE("an empty root is reported only if it was requested") {
  const TempTree tree;
  SearchPlaces places = Roots({tree.Path("absent")});
  places.toolkit_parents = {tree.Path("nothing")};
  places.python_prefixes = {tree.Path("nothing")};
  const FoundInstallations found = FindInstallations(places);
  CHECK(found.installations.empty());
  REQUIRE(found.incomplete.size() == 1);
  CHECK(found.incomplete[0].root == tree.Path("absent"));
  CHECK(found.incomplete[0].reason.starts_with("it does not exist"));
}

TEST_CASE("a library's name has its version numbers") {
  CHECK(LibraryName::Parse("libnvrtc.so.13", "libnvrtc")->numbers == std::vector{13});
  CHECK(LibraryName::Parse("libnvrtc.so.12.4.127", "libnvrtc")->numbers == std::vector{12, 4, 127});
  CHECK(LibraryName::Parse("libnvvm.so", "libnvvm")->numbers.empty());
}

TEST_CASE("the name of another variant of a library is not the library's name") {
  for (const char* name :
       {"libnvrtc.alt.so.13", "libnvrtc_static.a", "libnvrtc-builtins.so.13.0", "libnvrtc.so.13a",
        "libnvrtc.so.", "libnvrtc.so13", "libnvrtc.so.99999999999999", "libnvrtc.so.-1",
        "libnvrtc.so.13.debug", "nvrtc.so.13", ""}) {
    CAPTURE(name);
    CHECK_FALSE(LibraryName::Parse(name, "libnvrtc"));
  }
}

TEST_CASE("a library's soname is listed before its full name") {
  const cccl_cache::daemon::TempTree tree;
  tree.Write("lib/libnvrtc.so.12.4.127", "");
  tree.Write("lib/libnvrtc.so.12", "");
  tree.Write("lib/libnvrtc.so.11.2", "");
  const auto libraries = LibrariesIn(tree.Path("lib"), "libnvrtc");
  REQUIRE(libraries.size() == 3);
  CHECK(libraries[0].file == "libnvrtc.so.12");
  CHECK(libraries[1].file == "libnvrtc.so.11.2");
}

TEST_CASE("a directory that does not exist holds no libraries") {
  CHECK(LibrariesIn("/nonexistent", "libnvrtc").empty());
}

}  // namespace finder_test
