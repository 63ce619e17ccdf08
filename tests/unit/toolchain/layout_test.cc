// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/layout.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/unit/toolchain/toolchain_fixture.h"

using namespace cccl_cache::daemon;

namespace {

using Names = std::vector<std::string>;

/// Roots of the candidates below the tree, in search order.
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
    "a toolkit's libraries are looked for in its own directories, the machine's, and itself") {
  const Layout layout = ToolkitLayout("/cuda", {"x86_64-linux"});
  CHECK(layout.root == "/cuda");
  CHECK(layout.nvrtc ==
        Names{"lib64", "lib", "targets/x86_64-linux/lib", "lib/x86_64-linux-gnu", ""});
  CHECK(layout.nvjitlink == layout.nvrtc);
  CHECK(layout.nvvm.front() == "nvvm/lib64");
  CHECK(layout.libdevice == Names{"nvvm/libdevice", ""});
}

TEST_CASE("CCCL's headers lie in CUDA's, and are searched after all of these") {
  CHECK(ToolkitLayout("/cuda", {"x86_64-linux"}).headers ==
        Names{"include", "targets/x86_64-linux/include", "include/cccl",
              "targets/x86_64-linux/include/cccl"});
}

TEST_CASE("a distribution's places are told from the root of the file system") {
  const Layout layout = MultiarchLayout({.libraries = "/usr/lib/x86_64-linux-gnu",
                                         .headers = "//usr/include",
                                         .libdevice = {"/usr/lib/cuda", "/"}});
  CHECK(layout.root == "/");
  CHECK(layout.nvrtc == Names{"usr/lib/x86_64-linux-gnu"});
  CHECK(layout.headers == Names{"usr/include"});
  CHECK(layout.libdevice == Names{"usr/lib/cuda", ""});
}

TEST_CASE("what a person named comes first, and finding nothing in it is worth a word") {
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

TEST_CASE("of wheels each major has a place, those of CUDA 12 and before one together") {
  TempTree tree;
  for (const char* name : {"cu13", "cu9", "cu", "cuda_nvrtc", "cu13x"}) {
    tree.Directory(std::string("packages/nvidia/") + name);
  }
  SearchPlaces places;
  places.packages = {tree.Path("packages"), tree.Path("none")};
  CHECK(RootsOf(tree, places) == "packages/nvidia/cu13 packages/nvidia/cu9 packages ");
}

TEST_CASE("a virtual environment that is named as a root is searched for its packages") {
  TempTree tree;
  tree.Directory("venv/lib/python3.11/site-packages/nvidia/cu13");
  tree.Directory("venv/lib/python2/site-packages/nvidia/cu13");
  SearchPlaces places;
  places.roots = {tree.Path("venv")};
  const std::string packages = "venv/lib/python3.11/site-packages";
  CHECK(RootsOf(tree, places) == "venv " + packages + "/nvidia/cu13 " + packages + " ");
}

TEST_CASE("each Python below a prefix is searched, in the order of names") {
  TempTree tree;
  tree.Directory("lib/python3.12/dist-packages/nvidia");
  tree.Directory("lib/python3/dist-packages/nvidia");
  SearchPlaces places;
  places.python_prefixes = {tree.Path("lib")};
  CHECK(RootsOf(tree, places) == "lib/python3/dist-packages lib/python3.12/dist-packages ");
}

TEST_CASE("places that are not there have no candidates but those that a person named") {
  TempTree tree;
  SearchPlaces places;
  places.packages = places.toolkit_parents = places.python_prefixes = {tree.Path("none")};
  CHECK(Candidates(places).empty());
  places.roots = {tree.Path("none")};
  CHECK(RootsOf(tree, places) == "none ");
}
