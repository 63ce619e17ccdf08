// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/layout.h"

#include <sys/utsname.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/toolchain/toolchain_fixture.h"

namespace layout_test {

using namespace cccl_cache::daemon;

namespace {

using Names = std::vector<std::string>;

/// Returns the roots of the candidates below the tree, in search order.
std::string RootsOf(const TempTree& tree, const SearchPlaces& places) {
  std::string roots;
  for (const Candidate& candidate : Candidates(places)) {
    const std::string& root = candidate.layout.root;
    REQUIRE(root.starts_with(tree.Path("")));
    roots += root.substr(tree.Path("").size()) + " ";
  }
  return roots;
}

}  // namespace

TEST_CASE(
    "a toolkit's libraries are searched in its library directories, the machine's, and its root") {
  const Layout layout = ToolkitLayout("/cuda", {"x86_64-linux"});
  CHECK(layout.root == "/cuda");
  CHECK(layout.nvrtc ==
        Names{"lib64", "lib", "targets/x86_64-linux/lib", "lib/x86_64-linux-gnu", ""});
  CHECK(layout.nvjitlink == layout.nvrtc);
  CHECK(layout.nvvm.front() == "nvvm/lib64");
  CHECK(layout.libdevice == Names{"nvvm/libdevice", ""});
}

TEST_CASE("CCCL's headers are below CUDA's, and are searched after these") {
  CHECK(ToolkitLayout("/cuda", {"x86_64-linux"}).headers ==
        Names{"include", "targets/x86_64-linux/include", "include/cccl",
              "targets/x86_64-linux/include/cccl"});
}

TEST_CASE("a distribution's places are relative to the root of the file system") {
  const Layout layout = MultiarchLayout({.libraries = "/usr/lib/x86_64-linux-gnu",
                                         .headers = "//usr/include",
                                         .libdevice = {"/usr/lib/cuda", "/"}});
  CHECK(layout.root == "/");
  CHECK(layout.nvrtc == Names{"usr/lib/x86_64-linux-gnu"});
  CHECK(layout.headers == Names{"usr/include"});
  CHECK(layout.libdevice == Names{"usr/lib/cuda", ""});
}

TEST_CASE("a named path is searched first, and is to be reported if it is empty") {
  TempTree tree;
  tree.Directory("parent/cuda-13");
  SearchPlaces places;
  places.roots = {tree.Path("root")};
  places.cuda_homes = {tree.Path("home")};
  places.toolkit_parents = {tree.Path("parent")};
  CHECK(RootsOf(tree, places) == "root home parent/cuda-13 ");
  const auto candidates = Candidates(places);
  CHECK(candidates[0].asked_for);
  CHECK(candidates[0].named == tree.Path("root"));
  CHECK(candidates[1].asked_for);
  CHECK_FALSE(candidates[2].asked_for);
  CHECK(candidates[2].named.empty());
}

TEST_CASE("each major of wheels has a place; CUDA 12 and earlier share one") {
  TempTree tree;
  for (const char* name : {"cu13", "cu9", "cu", "cuda_nvrtc", "cu13x"}) {
    tree.Directory(std::string("packages/nvidia/") + name);
  }
  SearchPlaces places;
  places.packages = {tree.Path("packages"), tree.Path("none")};
  CHECK(RootsOf(tree, places) == "packages/nvidia/cu13 packages/nvidia/cu9 packages ");
}

TEST_CASE("the packages of a virtual environment that is named as a root are searched") {
  TempTree tree;
  tree.Directory("venv/lib/python3.11/site-packages/nvidia/cu13");
  tree.Directory("venv/lib/python2/site-packages/nvidia/cu13");
  SearchPlaces places;
  places.roots = {tree.Path("venv")};
  const std::string packages = "venv/lib/python3.11/site-packages";
  CHECK(RootsOf(tree, places) == "venv " + packages + "/nvidia/cu13 " + packages + " ");
}

TEST_CASE("the packages of each Python below a prefix are searched, in the order of names") {
  TempTree tree;
  tree.Directory("lib/python3.12/dist-packages/nvidia");
  tree.Directory("lib/python3/dist-packages/nvidia");
  SearchPlaces places;
  places.python_prefixes = {tree.Path("lib")};
  CHECK(RootsOf(tree, places) == "lib/python3/dist-packages lib/python3.12/dist-packages ");
}

TEST_CASE("missing places are candidates only if named") {
  TempTree tree;
  SearchPlaces places;
  places.packages = places.toolkit_parents = places.python_prefixes = {tree.Path("none")};
  CHECK(Candidates(places).empty());
  places.roots = {tree.Path("none")};
  CHECK(RootsOf(tree, places) == "none ");
}

namespace {

Names PathsOf(const std::vector<HeaderDirectory>& found) {
  Names paths;
  for (const HeaderDirectory& headers : found) paths.push_back(headers.path);
  return paths;
}

Layout HeadersIn(const TempTree& tree, const std::string& root, Names names) {
  return {.root = tree.Path(root), .headers = std::move(names)};
}

}  // namespace

TEST_CASE("directories that hold CUDA's or CCCL's headers are found in search order") {
  TempTree tree;
  tree.Write("cuda/include/cuda_runtime.h", "");
  tree.Write("cuda/cccl/cub/cub.cuh", "");
  tree.Write("cuda/crt_only/crt/host_defines.h", "");
  tree.Write("cuda/std_only/cuda/std/array", "");
  tree.Write("cuda/other/stdio.h", "");
  CHECK(PathsOf(FindHeaders(
            HeadersIn(tree, "cuda", {"cccl", "none", "other", "include", "std_only", "crt_only"}),
            13)) == Names{tree.Path("cuda/cccl"), tree.Path("cuda/include"),
                          tree.Path("cuda/std_only"), tree.Path("cuda/crt_only")});
}

TEST_CASE("headers of another major are left out, those without a version are not") {
  TempTree tree;
  tree.Write("cuda/include/cuda_runtime.h", "");
  const auto found = [&](const std::string& version) {
    tree.Write("cuda/include/cuda_runtime_api.h", version);
    return !FindHeaders(HeadersIn(tree, "cuda", {"include"}), 13).empty();
  };
  CHECK(found("/* first */\n#define CUDART_VERSION   13000\n"));
  CHECK(found("#define CUDART_VERSION 13020"));
  CHECK_FALSE(found("#define CUDART_VERSION 12090\n"));
  CHECK(found("#define CUDART_VERSION many\n"));
  CHECK(found("#define CUDART_VERSION"));
  CHECK(found(""));
}

TEST_CASE("a file that resembles the version header gives no version") {
  TempTree tree;
  tree.Write("cuda/include/cuda_runtime.h", "");
  tree.Directory("cuda/include/cuda_runtime_api.h");
  CHECK(FindHeaders(HeadersIn(tree, "cuda", {"include"}), 13).size() == 1);
}

TEST_CASE("a directory is listed once, at its first place, with all its names") {
  TempTree tree;
  tree.Write("cuda-13.0/include/cuda_runtime.h", "");
  tree.Link("cuda-13.0/targets", "include");
  tree.Link("cuda-13", "cuda-13.0");
  tree.Link("cuda", "cuda-13");
  const auto found = FindHeaders(HeadersIn(tree, "cuda", {"include", "targets"}), 13);
  REQUIRE(found.size() == 1);
  CHECK(found[0].path == tree.Path("cuda-13.0/include"));
  CHECK(found[0].aliases == Names{tree.Path("cuda/include"), tree.Path("cuda-13/include"),
                                  tree.Path("cuda/targets"), tree.Path("cuda-13/targets"),
                                  tree.Path("cuda-13.0/targets")});
}

TEST_CASE("a header directory's alias is kept once, and the number of aliases is bounded") {
  HeaderDirectory headers{"/path", {}};
  AddAlias(headers, "/path");
  CHECK(headers.aliases.empty());
  for (size_t i = 0; i < kMaxAliases + 5; ++i) {
    AddAlias(headers, "/" + std::to_string(i));
    AddAlias(headers, "/0");
  }
  CHECK(headers.aliases.size() == kMaxAliases);
  CHECK(std::count(headers.aliases.begin(), headers.aliases.end(), "/0") == 1);
}

using Paths = std::vector<std::string>;

namespace {

/// Sets or removes an environment variable. The destructor restores it.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    Set(value);
  }
  ~Variable() { Set(before_ ? before_->c_str() : nullptr); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void Set(const char* value) {
    if (value == nullptr) {
      unsetenv(name_);
    } else {
      setenv(name_, value, 1);
    }
  }

  const char* const name_;
  std::optional<std::string> before_;
};

std::string Machine() {
  utsname name{};
  REQUIRE(uname(&name) == 0);
  return name.machine;
}

}  // namespace

TEST_CASE("CUDA_HOME is searched before CUDA_PATH, whichever toolkits they name") {
  const Variable home("CUDA_HOME", "/opt/first");
  const Variable path("CUDA_PATH", "/opt/second");
  CHECK(SystemSearchPlaces({}).cuda_homes == Paths{"/opt/first", "/opt/second"});
}

TEST_CASE("a variable that is unset, empty or relative names no toolkit") {
  const Variable path("CUDA_PATH", "/opt/second");
  for (const char* value : {static_cast<const char*>(nullptr), "", "cuda", "./cuda", "~/cuda"}) {
    const Variable home("CUDA_HOME", value);
    INFO((value == nullptr ? "unset" : value));
    CHECK(SystemSearchPlaces({}).cuda_homes == Paths{"/opt/second"});
  }
}

TEST_CASE("the standard places of this machine are searched besides the roots") {
  const SearchPlaces places = SystemSearchPlaces({"/opt/root"});
  CHECK(places.roots == Paths{"/opt/root"});
  CHECK(places.toolkit_parents == Paths{"/usr/local"});
  REQUIRE(places.multiarch.size() == 1);
  CHECK(places.multiarch[0].libraries == "/usr/lib/" + Machine() + "-linux-gnu");
  CHECK(places.multiarch[0].headers == "/usr/include");
  CHECK(places.multiarch[0].libdevice ==
        Paths{"/usr/lib/nvidia-cuda-toolkit/libdevice", "/usr/lib/cuda/nvvm/libdevice"});
  CHECK(places.python_prefixes == Paths{"/usr/lib", "/usr/local/lib"});
  CHECK(places.targets.back() == Machine() + "-linux");
}

TEST_CASE("if only roots are requested, neither environment nor system is searched") {
  const Variable home("CUDA_HOME", "/opt/first");
  const SearchPlaces places = GivenSearchPlaces({"/opt/root"});
  CHECK(places.roots == Paths{"/opt/root"});
  CHECK(places.cuda_homes.empty());
  CHECK(places.toolkit_parents.empty());
  CHECK(places.multiarch.empty());
  CHECK(places.python_prefixes.empty());
  CHECK(places.targets == SystemSearchPlaces({}).targets);
}

}  // namespace layout_test
