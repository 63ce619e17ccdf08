// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/files/path_walk.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <random>

#include "base/files/file_stamp.h"
#include "tests/unit/files/file_tree.h"

namespace path_walk_test {

using namespace cccl_cache::daemon;
using cccl_cache::DeviceOf;
using cccl_cache::Sha256;

namespace {

/// Returns the kind, device and inode that the kernel finds under a path.
SeenFile AsTheKernelSees(const std::string& path) {
  struct statx status {};
  if (statx(AT_FDCWD, path.c_str(), 0, STATX_BASIC_STATS, &status) != 0) return {};
  const FileKind kind = S_ISDIR(status.stx_mode) ? FileKind::kDirectory : FileKind::kFile;
  return {kind, {}, {DeviceOf(status), status.stx_ino}};
}

std::string RandomName(std::mt19937& random) {
  static constexpr const char* kNames[] = {"a", "b", "c", "..", "..", "x.h", "d"};
  std::string name = kNames[random() % std::size(kNames)];
  while (random() % 4 != 0) name += fmt::format("/{}", kNames[random() % std::size(kNames)]);
  return name;
}

}  // namespace

TEST_CASE("paths are resolved as the kernel resolves them") {
  std::mt19937 random(GENERATE(range(1, 20)));
  FileTree tree;
  for (const char* directory : {"r/a/b", "r/a/c", "r/b/c/a", "r/c"}) {
    tree.Write(fmt::format("{}/x.h", directory), directory);
  }
  for (const char* holder : {"r", "r/a", "r/a/b", "r/b", "r/b/c", "r/c"}) {
    const std::string target = RandomName(random);
    tree.Link(fmt::format("{}/d", holder), random() % 3 == 0 ? tree.Path("r/" + target) : target);
  }
  const auto files = tree.Own({"r"});
  for (int i = 0; i < 200; ++i) {
    const std::string name = RandomName(random);
    INFO(name);
    const Result<SeenFile> seen = files->Look({0, name});
    // Enough ".." lead out of the tree, where there may be other files.
    if (!seen.ok()) continue;
    const SeenFile expected = AsTheKernelSees(tree.Path("r/" + name));
    CHECK(seen->kind == expected.kind);
    CHECK(seen->inode == expected.inode);
  }
}

TEST_CASE(".. after a symlinked directory leads to the parent of its target") {
  FileTree tree;
  tree.Write("elsewhere/a.h", "elsewhere");
  tree.Directory("elsewhere/deep");
  tree.Write("include/a.h", "include");
  tree.Link("include/link", "../elsewhere/deep");
  CHECK(tree.Own({"include"})->Look({0, "link/../a.h"})->digest == Sha256("elsewhere"));
}

TEST_CASE("a name may leave its root by .. and by symlinks") {
  FileTree tree;
  tree.Write("elsewhere/a.h", "elsewhere");
  tree.Directory("include");
  tree.Link("include/relative.h", "../elsewhere/a.h");
  tree.Link("include/absolute.h", tree.Path("elsewhere/a.h"));
  const auto files = tree.Own({"include"});
  for (const char* name : {"../elsewhere/a.h", "relative.h", "absolute.h"}) {
    CHECK(files->Look({0, name})->digest == Sha256("elsewhere"));
  }
}

TEST_CASE("at most forty symlinks are followed") {
  const bool directories = GENERATE(false, true);
  FileTree tree;
  const std::string end = directories ? "/a.h" : "";
  tree.Write(directories ? "r/0/a.h" : "r/0", "end");
  for (int i = 1; i <= 41; ++i) tree.Link(fmt::format("r/{}", i), std::to_string(i - 1));
  REQUIRE(AsTheKernelSees(tree.Path("r/40" + end)).kind == FileKind::kFile);
  REQUIRE(AsTheKernelSees(tree.Path("r/41" + end)).kind == FileKind::kAbsent);
  const auto files = tree.Own({"r"});
  CHECK(files->Look({0, "40" + end})->kind == FileKind::kFile);
  // Absent even if most of the path is known by now.
  CHECK(files->Look({0, "41" + end})->kind == FileKind::kAbsent);
  CHECK(files->Look({0, "40" + end})->kind == FileKind::kFile);
  // A path that is too long by one symlink is not remembered as absent for a shorter path.
  const auto others = tree.Own({"r"});
  CHECK(others->Look({0, "41" + end})->kind == FileKind::kAbsent);
  CHECK(others->Look({0, "40" + end})->kind == FileKind::kFile);
  CHECK(others->Look({0, "0" + end})->kind == FileKind::kFile);
}

TEST_CASE("a name whose symlinks make the path too long is absent") {
  FileTree tree;
  std::string up_and_down;
  while (up_and_down.size() < 4000) up_and_down += "../r/";
  tree.Directory("r");
  for (int i = 1; i <= 40; ++i) {
    tree.Link(fmt::format("r/{}", i), up_and_down + std::to_string(i - 1));
  }
  CHECK(tree.Own({"r"})->Look({0, "40"})->kind == FileKind::kAbsent);
}

TEST_CASE("the change of a symlink is noticed by the next build") {
  FileTree tree;
  tree.Write("one/a.h", "one");
  tree.Write("two/a.h", "two");
  tree.Link("include", "one");
  CHECK(tree.Own({"include"})->Look({0, "a.h"})->digest == Sha256("one"));
  tree.Link("include", "two");
  CHECK(tree.Own({"include"})->Look({0, "a.h"})->digest == Sha256("two"));
}

TEST_CASE("nothing is looked up below an absent directory until the next check") {
  FileTree tree;
  tree.Directory("include");
  const auto files = tree.Own({"include"});
  CHECK(files->Look({0, "sub/deep/a.h"})->kind == FileKind::kAbsent);
  tree.Write("include/sub/deep/a.h", "now");
  CHECK(files->Look({0, "sub/deep/a.h"})->kind == FileKind::kAbsent);
  CHECK(files->Look({0, "sub/../sub/deep/a.h"})->kind == FileKind::kAbsent);
  CHECK(tree.Own({"include"})->Look({0, "sub/deep/a.h"})->kind == FileKind::kFile);
  // A compiler gets the existing file.
  CHECK(files->Read({0, "sub/deep/a.h"})->seen.kind == FileKind::kFile);
}

TEST_CASE("a directory stays the same during a check, however many others are absent") {
  FileTree tree;
  tree.Write("include/sub/a.h", "before");
  const auto files = tree.Own({"include"});
  CHECK(files->Look({0, "sub/a.h"})->digest == Sha256("before"));
  for (int i = 0; i < 300; ++i) {
    CHECK(files->Look({0, fmt::format("absent{}/a.h", i)})->kind == FileKind::kAbsent);
  }
  std::filesystem::rename(tree.Path("include/sub"), tree.Path("moved"));
  tree.Write("include/sub/a.h", "after");
  CHECK(files->Look({0, "sub/a.h"})->digest == Sha256("before"));
}

TEST_CASE("a new directory is seen by the next check, also behind a symlink") {
  const bool behind_symlink = GENERATE(false, true);
  FileTree tree;
  tree.Directory("include");
  tree.Write("elsewhere/a.h", "elsewhere");
  tree.Settle("include");
  for (int check = 0; check < 2; ++check) {
    CHECK(tree.Own({"include"})->Look({0, "sub/a.h"})->kind == FileKind::kAbsent);
  }
  if (behind_symlink) {
    tree.Link("include/sub", "../elsewhere");
  } else {
    tree.Write("include/sub/a.h", "elsewhere");
  }
  CHECK(tree.Own({"include"})->Look({0, "sub/a.h"})->digest == Sha256("elsewhere"));
}

TEST_CASE("a directory that was replaced by a symlink is noticed by the next check") {
  FileTree tree;
  tree.Write("include/sub/a.h", "before");
  tree.Write("elsewhere/b.h", "after");
  CHECK(tree.Own({"include"})->Look({0, "sub/a.h"})->digest == Sha256("before"));
  std::filesystem::rename(tree.Path("include/sub"), tree.Path("moved"));
  tree.Link("include/sub", "../elsewhere");
  CHECK(tree.Own({"include"})->Look({0, "sub/a.h"})->kind == FileKind::kAbsent);
  CHECK(tree.Own({"include"})->Look({0, "sub/b.h"})->digest == Sha256("after"));
}

}  // namespace path_walk_test
