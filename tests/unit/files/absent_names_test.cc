// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "daemon/files/path_walk.h"
#include "tests/unit/files/file_tree.h"

namespace cccl_cache::daemon::absent_names_test {
namespace {

ContentStamp Stamp(uint64_t inode) {
  ContentStamp stamp;
  stamp.inode = inode;
  return stamp;
}

TEST_CASE("a name is known to be absent under its directory's stamp and no other") {
  AbsentNames names(10);
  names.Remember(Stamp(1), "a.h");
  CHECK(names.Knows(Stamp(1), "a.h"));
  CHECK_FALSE(names.Knows(Stamp(1), "b.h"));
  CHECK_FALSE(names.Knows(Stamp(2), "a.h"));
}

TEST_CASE("all absent names are forgotten when their number exceeds the maximum") {
  AbsentNames names(2);
  names.Remember(Stamp(1), "a.h");
  names.Remember(Stamp(1), "a.h");
  names.Remember(Stamp(2), "b.h");
  CHECK(names.size() == 2);
  names.Remember(Stamp(3), "c.h");
  CHECK(names.size() == 1);
  CHECK_FALSE(names.Knows(Stamp(1), "a.h"));
  CHECK(names.Knows(Stamp(3), "c.h"));
  AbsentNames none(0);
  none.Remember(Stamp(1), "a.h");
  CHECK_FALSE(none.Knows(Stamp(1), "a.h"));
}

TEST_CASE("an absent name is looked up once, and again after its directory changed") {
  FileTree tree;
  tree.Directory("include");
  tree.Settle("include");
  const auto look = [&](const std::string& below) {
    const auto seen = tree.Own({"include"})->Look({0, below});
    REQUIRE(seen);
    return seen->kind;
  };
  CHECK(look("a.h") == FileKind::kAbsent);
  CHECK(look("sub/b.h") == FileKind::kAbsent);
  CHECK(tree.memory->absent.Knows(tree.Stamp("include"), "a.h"));
  CHECK(tree.memory->absent.Knows(tree.Stamp("include"), "sub"));
  CHECK(look("a.h") == FileKind::kAbsent);

  tree.Write("include/a.h", "now");
  CHECK(look("a.h") == FileKind::kFile);
  CHECK(look("sub/b.h") == FileKind::kAbsent);
  tree.Directory("include/sub");
  tree.Write("include/sub/b.h", "now");
  CHECK(look("sub/b.h") == FileKind::kFile);
}

TEST_CASE("a remembered absent name serves a check of a closure, never a compile") {
  FileTree tree;
  tree.Directory("include");
  tree.Write("include/a.h", "there");
  tree.Settle("include");
  tree.memory->absent.Remember(tree.Stamp("include"), "a.h");
  const auto files = tree.Own({"include"});
  CHECK(files->Look({0, "a.h"})->kind == FileKind::kAbsent);
  CHECK(files->Read({0, "a.h"})->seen.kind == FileKind::kFile);
}

TEST_CASE("nothing is remembered about a directory that has just changed") {
  FileTree tree;
  tree.Directory("include");
  const ContentStamp stamp = tree.Stamp("include");
  CHECK(tree.Own({"include"})->Look({0, "a.h"})->kind == FileKind::kAbsent);
  const bool looked_in_time = !stamp.IsSettledAt(FileTimeNow());
  if (looked_in_time) CHECK_FALSE(tree.memory->absent.Knows(stamp, "a.h"));
}

}  // namespace
}  // namespace cccl_cache::daemon::absent_names_test
