// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "daemon/core/model/toolchain.h"
#include "daemon/core/model/toolchain_places.h"

namespace cccl_cache::daemon::toolchain_headers_test {
namespace {

using cccl_cache::Sha256;
using File = ToolchainHeaders::File;

std::vector<File> Small() {
  return {{"0/cub-x/a.h", Sha256("x"), {1, 1}},
          {"0/cub/block/b.h", Sha256("b"), {1, 2}},
          {"0/cub/cub.cuh", Sha256("cub"), {1, 3}},
          {"0/cuda.h", Sha256("cuda"), {1, 4}}};
}

TEST_CASE("a directory has one digest for its contents, independent of its place") {
  const ToolchainHeaders small(Small(), {}, false);
  std::vector<File> files = Small();
  files.push_back({"0/zzz.h", Sha256("more"), {2, 9}});
  for (File& file : files) file.inode.first = 7;  // another disk
  const ToolchainHeaders larger(files, {}, false);
  CHECK(small.Find("0/cub") == larger.Find("0/cub"));
  CHECK(small.Find("0/cuda.h") == larger.Find("0/cuda.h"));
  CHECK(small.Find("0") != larger.Find("0"));
  CHECK(small.Find("") != larger.Find(""));
  CHECK_FALSE(small.Find("0/zzz.h"));
  CHECK_FALSE(small.Find("0/cu"));
  CHECK_FALSE(small.Find("1"));
}

TEST_CASE("a change of a byte, name or link changes only the digests of its directories") {
  const ToolchainHeaders before(Small(), {}, false);
  std::vector<File> files = Small();
  SECTION("contents") { files[1].contents = Sha256("B"); }
  SECTION("a name") { files[1].place = "0/cub/block/c.h"; }
  SECTION("another file") {
    files.insert(files.begin() + 2, {"0/cub/block/c.h", Sha256(""), {1, 9}});
  }
  SECTION("a file is a hard link of another") { files[1].inode = files[2].inode; }
  const ToolchainHeaders after(files, {}, false);
  CHECK(before.Find("0/cub") != after.Find("0/cub"));
  CHECK(before.Find("") != after.Find(""));
  CHECK(before.Find("0/cub-x") == after.Find("0/cub-x"));
}

using Places = std::vector<std::string>;

TEST_CASE("'..' is resolved lexically, and the directory that it leaves counts as well") {
  const ToolchainHeaders plain(Small(), {}, false);
  CHECK(plain.PlacesOf("0/cub/cub.cuh") == Places{"0/cub/cub.cuh"});
  CHECK(plain.PlacesOf("0/cub/../cuda.h") == Places{"0/cub", "0/cuda.h"});
  CHECK(plain.PlacesOf("0/cub/block/../../x.h") == Places{"0/cub/block", "0/cub", "0/x.h"});
}

TEST_CASE("a '..' that can't be resolved lexically counts as all headers") {
  const ToolchainHeaders plain(Small(), {}, false);
  CHECK(plain.PlacesOf("0/absent/../cuda.h") == Places{""});
  CHECK(plain.PlacesOf("0/cuda.h/../cub/cub.cuh") == Places{""});  // a path can't lead through a
                                                                   // file
  CHECK(plain.PlacesOf("0/../secret") == Places{""});
  const ToolchainHeaders linked(Small(), {}, true);
  CHECK(linked.PlacesOf("0/cub/../cuda.h") == Places{""});
}

ToolchainPtr Nested() {
  auto toolchain = std::make_shared<Toolchain>();
  toolchain->contents = std::make_shared<const ToolchainHeaders>(
      Small(),
      std::vector<ToolchainHeaders::Directory>{
          {"/cuda/include", "0"}, {"/cuda/include/cccl", "0/cccl"}, {"/other", "2"}},
      false);
  return toolchain;
}

const std::vector<Mount> kMounts = {{"/cccl-root-1", "/cuda/include/cub", true},
                                    {"/cccl-root-2", "/home/user", false},
                                    {"/cccl-root-3", "/cuda/include", true}};

TEST_CASE("NamesOf returns the places of names below the toolchain's roots") {
  const ToolchainPlaces places(Nested(), kMounts);
  const auto names = [&](const char* visible) {
    Places found;
    for (const FileName& name : places.NamesOf(visible)) {
      CHECK(name.root == kToolchainRoot);
      found.push_back(name.below);
    }
    return found;
  };
  CHECK(names("/cccl-root-1/block/b.h") == Places{"0/cub/block/b.h"});
  CHECK(names("/cccl-root-3/cccl/cub/x.h") == Places{"0/cccl/cub/x.h"});
  CHECK(names("/cccl-root-3/cub/../cuda.h") == Places{"0/cub", "0/cuda.h"});
  CHECK(names("/cccl-root-2/x.h").empty());
  CHECK(names("/cuda/includes/x.h").empty());
  CHECK(names("/cccl-root-3/__pycache__/x.h").empty());
  CHECK(names("/cccl-root-3/__pycache__x.h") == Places{"0/__pycache__x.h"});
  // A real path leads to a file of this toolchain only.
  CHECK(names("/cuda/include/cccl/x.h") == Places{"/cuda/include/cccl/x.h"});
  CHECK(names("/other") == Places{"/other"});
  CHECK(names("/cuda/include/cub/../cuda.h") == Places{"/cuda/include", "0/cub", "0/cuda.h"});
}

TEST_CASE("AnnouncedFor returns the entry directly below the root") {
  const ToolchainPlaces places(Nested(), kMounts);
  CHECK(places.AnnouncedFor("/cccl-root-1/block/b.h") == "/cccl-root-1/block");
  CHECK(places.AnnouncedFor("/cuda/include/cccl/cub/x.h") == "/cuda/include/cccl/cub");
  CHECK(places.AnnouncedFor("/cuda/include/cuda.h") == "/cuda/include/cuda.h");
  CHECK(places.AnnouncedFor("/cccl-root-3").empty());  // the root exists, whatever is on the disk
}

TEST_CASE("a path is looked up only in the toolchain that contains it") {
  const ToolchainPtr nested = Nested();
  const ToolchainHeaders& one = *nested->contents;
  const ToolchainHeaders other(Small(), {{"/elsewhere/include", "0"}}, false);
  const FileName place{kToolchainRoot, "0/cuda.h"};
  const FileName path{kToolchainRoot, "/cuda/include/cuda.h"};
  CHECK(SeenIn(one, place)->digest == SeenIn(one, path)->digest);
  CHECK(SeenIn(one, path)->kind == FileKind::kToolchain);
  CHECK(SeenIn(one, {kToolchainRoot, "/cuda/include/none.h"})->kind == FileKind::kAbsent);
  CHECK(SeenIn(other, place)->kind == FileKind::kToolchain);
  CHECK_FALSE(SeenIn(other, path));
  CHECK_FALSE(SeenIn(other, {kToolchainRoot, "/cuda/include/none.h"}));
}

TEST_CASE("LiesIn compares whole components of paths") {
  CHECK(LiesIn("/a/b", "/a/b"));
  CHECK(LiesIn("/a/b/c", "/a/b"));
  CHECK_FALSE(LiesIn("/a/bc", "/a/b"));
  CHECK_FALSE(LiesIn("/a", "/a/b"));
  CHECK(LiesIn("/a", "/"));
}

TEST_CASE("a header directory has the number of the outermost directory that contains it") {
  const std::vector<HeaderDirectory> directories = {{"/a/b/c", {}}, {"/a/b", {}}, {"/a", {}}};
  CHECK(PlaceOf(directories, 0) == "2/b/c");
  CHECK(PlaceOf(directories, 1) == "2/b");
  CHECK(PlaceOf(directories, 2) == "2");
}

}  // namespace
}  // namespace cccl_cache::daemon::toolchain_headers_test
