// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/files/host_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/support/root.h"
#include "tests/unit/files/file_tree.h"

namespace host_files_test {

using namespace cccl_cache::daemon;
using Catch::Matchers::Contains;
using cccl_cache::Sha256;

namespace fs = std::filesystem;

namespace {

FileKind KindOf(RequesterFiles& files, const FileName& name) {
  const Result<SeenFile> seen = files.Look(name);
  REQUIRE(seen.ok());
  return seen->kind;
}

}  // namespace

TEST_CASE("a file has the digest of its bytes, and reading gives exactly these") {
  FileTree tree;
  tree.Write("include/a.h", std::string("int a;\0\n", 8));
  const auto files = tree.Own({"include"});
  const Result<SeenFile> seen = files->Look({0, "a.h"});
  REQUIRE(seen.ok());
  CHECK(seen->kind == FileKind::kFile);
  CHECK(seen->digest == Sha256(std::string("int a;\0\n", 8)));
  const auto read = files->Read({0, "a.h"});
  REQUIRE(read.ok());
  CHECK(*read->bytes == std::string("int a;\0\n", 8));
  CHECK(read->seen.digest == seen->digest);
  CHECK(read->seen.inode == seen->inode);
}

TEST_CASE("an empty file is a file") {
  FileTree tree;
  tree.Write("include/a.h", "");
  const auto read = tree.Own({"include"})->Read({0, "a.h"});
  REQUIRE(read.ok());
  CHECK(read->seen.kind == FileKind::kFile);
  CHECK(read->seen.digest == Sha256(""));
  CHECK(read->bytes->empty());
}

TEST_CASE("a file that takes several reads is read whole") {
  FileTree tree;
  const std::string bytes(3 << 20, 'x');
  tree.Write("include/a.h", bytes);
  const auto read = tree.Own({"include"})->Read({0, "a.h"});
  REQUIRE(read.ok());
  CHECK(*read->bytes == bytes);
}

TEST_CASE("names under roots, in the working directory and absolute ones are found") {
  FileTree tree;
  tree.Write("one/a.h", "one");
  tree.Write("two/a.h", "two");
  tree.Write("here.h", "here");
  const auto files = tree.Own({"one", "two"});
  CHECK(files->Look({0, "a.h"})->digest == Sha256("one"));
  CHECK(files->Look({1, "a.h"})->digest == Sha256("two"));
  CHECK(files->Look({kWorkingDirectoryRoot, "here.h"})->digest == Sha256("here"));
  CHECK(files->Look({kAbsoluteRoot, tree.Path("two/a.h")})->digest == Sha256("two"));
}

TEST_CASE("a directory is recognised, including a root itself") {
  FileTree tree;
  tree.Directory("include/cub");
  const auto files = tree.Own({"include"});
  CHECK(KindOf(*files, {0, "cub"}) == FileKind::kDirectory);
  CHECK(KindOf(*files, {0, "cub/"}) == FileKind::kDirectory);
  CHECK(KindOf(*files, {0, "cub/.."}) == FileKind::kDirectory);
  CHECK(KindOf(*files, {0, ""}) == FileKind::kDirectory);
  CHECK(files->Look({0, "cub/.."})->inode == files->Look({0, ""})->inode);
  const auto read = files->Read({0, "cub"});
  REQUIRE(read.ok());
  CHECK(read->seen.kind == FileKind::kDirectory);
  CHECK(read->bytes == nullptr);
}

TEST_CASE("a missing file is absent") {
  FileTree tree;
  tree.Write("include/a.h", "");
  tree.Link("include/dangling.h", "nowhere.h");
  tree.Link("include/loop.h", "loop.h");
  const std::string below =
      GENERATE_COPY(std::string("b.h"), std::string("b/c.h"), std::string("a.h/b.h"),
                    std::string("a.h/"), std::string("a.h/.."), std::string("dangling.h"),
                    std::string("loop.h"), std::string("loop.h/a.h"), std::string(300, 'x'),
                    std::string(5000, '/') + "a.h", std::string("a.h\0b", 5));
  INFO(below.substr(0, 80));
  const auto files = tree.Own({"include"});
  CHECK(KindOf(*files, {0, below}) == FileKind::kAbsent);
  const auto read = files->Read({0, below});
  REQUIRE(read.ok());
  CHECK(read->seen.kind == FileKind::kAbsent);
}

TEST_CASE("under a missing root every name is absent") {
  FileTree tree;
  tree.Write("a.h", "");
  RootDirectories nowhere;
  nowhere.roots = {"", "relative"};
  HostFiles files(Reach(FileReach::kDaemons, geteuid()), nowhere, {}, tree.memory);
  CHECK(KindOf(files, {0, "a.h"}) == FileKind::kAbsent);
  CHECK(KindOf(files, {0, "/"}) == FileKind::kAbsent);
  CHECK(KindOf(files, {1, "a.h"}) == FileKind::kAbsent);
  CHECK(KindOf(files, {2, tree.Path("a.h")}) == FileKind::kAbsent);
  CHECK(KindOf(files, {kWorkingDirectoryRoot, "a.h"}) == FileKind::kAbsent);
  CHECK(KindOf(files, {kAbsoluteRoot, "a.h"}) == FileKind::kAbsent);
}

TEST_CASE("hard links and symlinks to one file have one inode, copies have another") {
  FileTree tree;
  tree.Write("include/a.h", "same");
  tree.Write("include/copy.h", "same");
  tree.Link("include/symlink.h", "a.h");
  fs::create_hard_link(tree.Path("include/a.h"), tree.Path("include/hard.h"));
  const auto files = tree.Own({"include"});
  const auto inode = files->Look({0, "a.h"})->inode;
  CHECK(files->Look({0, "symlink.h"})->inode == inode);
  CHECK(files->Look({0, "hard.h"})->inode == inode);
  CHECK(files->Look({0, "copy.h"})->inode != inode);
  CHECK(files->Look({0, "copy.h"})->digest == files->Look({0, "a.h"})->digest);
}

namespace {

/// Makes a special file, and checks that it and a link to it are denied.
void CheckDenied(mode_t kind, dev_t device) {
  FileTree tree;
  tree.Directory("include");
  REQUIRE(mknod(tree.Path("include/special.h").c_str(), kind | 0666, device) == 0);
  tree.Link("include/link.h", "special.h");
  const auto files = tree.Own({"include"});
  for (const char* name : {"special.h", "link.h"}) {
    const Error error = ErrorOf(files->Look({0, name}));
    CHECK(error.code == ErrorCode::kDenied);
    CHECK_THAT(error.message, Contains(tree.Path("include/") + name));
    CHECK_THAT(error.message, Contains("regular file"));
    CHECK(ErrorOf(files->Read({0, name})).code == ErrorCode::kDenied);
  }
}

}  // namespace

TEST_CASE("a FIFO or socket is denied at once, and the error has the requested name") {
  CheckDenied(GENERATE(S_IFIFO, S_IFSOCK), 0);
}

TEST_CASE("a device is denied", "[root]") {
  RequireRoot();
  CheckDenied(S_IFCHR, makedev(1, 3));
}

TEST_CASE("a file of more than 64 MiB is denied, one of 64 MiB is not") {
  FileTree tree;
  tree.Write("include/a.h", "");
  const auto files = tree.Own({"include"});
  REQUIRE(truncate(tree.Path("include/a.h").c_str(), 64 << 20) == 0);
  CHECK(files->Read({0, "a.h"})->bytes->size() == 64 << 20);
  REQUIRE(truncate(tree.Path("include/a.h").c_str(), (64 << 20) + 1) == 0);
  const Error error = ErrorOf(files->Look({0, "a.h"}));
  CHECK(error.code == ErrorCode::kDenied);
  CHECK_THAT(error.message, Contains("64 MiB"));
}

TEST_CASE("the replacement of a directory is noticed by the next build") {
  FileTree tree;
  tree.Write("include/a.h", "old");
  tree.Write("next/a.h", "new");
  CHECK(tree.Own({"include"})->Look({0, "a.h"})->digest == Sha256("old"));
  fs::rename(tree.Path("include"), tree.Path("before"));
  fs::rename(tree.Path("next"), tree.Path("include"));
  CHECK(tree.Own({"include"})->Look({0, "a.h"})->digest == Sha256("new"));
}

TEST_CASE("a build continues to use a directory that was replaced") {
  FileTree tree;
  tree.Write("include/a.h", "old");
  tree.Write("next/a.h", "new");
  const auto files = tree.Own({"include"});
  CHECK(files->Look({0, "a.h"})->digest == Sha256("old"));
  fs::rename(tree.Path("include"), tree.Path("before"));
  fs::rename(tree.Path("next"), tree.Path("include"));
  CHECK(files->Look({0, "a.h"})->digest == Sha256("old"));
}

TEST_CASE("files in more directories than may be open are found") {
  FileTree tree;
  for (int i = 0; i < 600; ++i) tree.Write(fmt::format("include/{}/a.h", i), std::to_string(i));
  const auto files = tree.Own({"include"});
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 600; ++i) {
      REQUIRE(files->Look({0, fmt::format("{}/a.h", i)})->digest == Sha256(std::to_string(i)));
    }
  }
  const auto open = std::distance(fs::directory_iterator("/proc/self/fd"), {});
  CHECK(open < 400);
}

}  // namespace host_files_test
