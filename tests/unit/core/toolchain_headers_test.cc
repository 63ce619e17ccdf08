// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/toolchain_headers.h"

#include <catch2/catch.hpp>

#include "daemon/core/toolchain_places.h"

namespace cccl_cached {
namespace {

using cccl_cache::Sha256;
using File = ToolchainHeaders::File;

std::vector<File> Small() {
  return {{"0/cub-x/a.h", Sha256("x"), {1, 1}},
          {"0/cub/block/b.h", Sha256("b"), {1, 2}},
          {"0/cub/cub.cuh", Sha256("cub"), {1, 3}},
          {"0/cuda.h", Sha256("cuda"), {1, 4}}};
}

TEST_CASE("a directory has one digest for all that lies in it, wherever it lies") {
  const ToolchainHeaders small(Small(), false);
  std::vector<File> files = Small();
  files.push_back({"0/zzz.h", Sha256("more"), {2, 9}});
  for (File& file : files) file.inode.first = 7;  // another disk
  const ToolchainHeaders larger(files, false);
  CHECK(small.Find("0/cub") == larger.Find("0/cub"));
  CHECK(small.Find("0/cuda.h") == larger.Find("0/cuda.h"));
  CHECK(small.Find("0") != larger.Find("0"));
  CHECK(small.Find("") != larger.Find(""));
  CHECK_FALSE(small.Find("0/zzz.h"));
  CHECK_FALSE(small.Find("0/cu"));
  CHECK_FALSE(small.Find("1"));
}

TEST_CASE("a byte, a name or a link more makes another directory, and only that") {
  const ToolchainHeaders before(Small(), false);
  std::vector<File> files = Small();
  SECTION("contents") { files[1].contents = Sha256("B"); }
  SECTION("a name") { files[1].place = "0/cub/block/c.h"; }
  SECTION("another file") {
    files.insert(files.begin() + 2, {"0/cub/block/c.h", Sha256(""), {1, 9}});
  }
  SECTION("a file is a hard link of another") { files[1].inode = files[2].inode; }
  const ToolchainHeaders after(files, false);
  CHECK(before.Find("0/cub") != after.Find("0/cub"));
  CHECK(before.Find("") != after.Find(""));
  CHECK(before.Find("0/cub-x") == after.Find("0/cub-x"));
}

TEST_CASE("'..' is resolved by its letters only where no symlink could lead elsewhere") {
  const ToolchainHeaders plain(Small(), false);
  CHECK(plain.Resolve("0/cub/../cuda.h") == "0/cuda.h");
  CHECK(plain.Resolve("0/cub/block/../../cuda.h") == "0/cuda.h");
  CHECK_FALSE(plain.Find(plain.Resolve("0/absent/../cuda.h").value()));
  CHECK_FALSE(plain.Resolve("0/../secret"));
  CHECK_FALSE(ToolchainHeaders(Small(), true).Resolve("0/cub/../cuda.h"));
}

TEST_CASE("names of the toolchain are places, whatever they are called") {
  auto toolchain = std::make_shared<Toolchain>();
  toolchain->headers = {{"/cuda/include", {}}, {"/cuda/include/cccl", {}}, {"/other", {}}};
  toolchain->contents = std::make_shared<const ToolchainHeaders>(Small(), false);
  const ToolchainPlaces places(toolchain, {{"/cccl-root-1", "/cuda/include/cub", true},
                                           {"/cccl-root-2", "/home/user", false}});
  const auto place = [&](const char* visible) {
    const auto name = places.NameOf(visible);
    return name ? name->below : "none";
  };
  CHECK(place("/cccl-root-1/block/b.h") == "0/cub/block/b.h");
  CHECK(place("/cuda/include/cccl/cub/x.h") == "0/cccl/cub/x.h");
  CHECK(place("/other") == "2");
  CHECK(place("/cuda/include/cub/../cuda.h") == "0/cuda.h");
  CHECK(place("/cuda/include/../bin") == "");  // no telling: all of it
  CHECK(place("/cccl-root-2/x.h") == "none");
  CHECK(place("/cuda/includes/x.h") == "none");
  CHECK(place("/cuda/include/__pycache__/x.h") == "none");
  CHECK(places.GroupOf("/cccl-root-1/block/b.h") == "/cccl-root-1/block");
  CHECK(places.GroupOf("/cuda/include/cccl/cub/x.h") == "/cuda/include/cccl/cub");
  CHECK(places.GroupOf("/cuda/include/cuda.h") == "/cuda/include/cuda.h");
}

}  // namespace
}  // namespace cccl_cached
