// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>

#include "daemon/toolchain/layout.h"
#include "tests/unit/toolchain/toolchain_fixture.h"

using namespace cccl_cache::daemon;

namespace {

using Names = std::vector<std::string>;

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

TEST_CASE("headers of another major are left out, those that tell none are not") {
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

TEST_CASE("what only looks like the header that tells the version tells none") {
  TempTree tree;
  tree.Write("cuda/include/cuda_runtime.h", "");
  tree.Directory("cuda/include/cuda_runtime_api.h");
  CHECK(FindHeaders(HeadersIn(tree, "cuda", {"include"}), 13).size() == 1);
}

TEST_CASE("a directory has one place, the first, and all names that lead to it") {
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

TEST_CASE("a spelling is known once, and there are so many at the most") {
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
