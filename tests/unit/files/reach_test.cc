// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/fsuid.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <thread>

#include "daemon/files/access_rules.h"
#include "tests/unit/files/file_tree.h"

using namespace cccl_cache::daemon;
using Catch::Matchers::Contains;
using cccl_cache::Sha256;

namespace {

constexpr uid_t kStranger = 54321;

}  // namespace

TEST_CASE("a stranger gets what everybody may read") {
  FileTree tree;
  tree.Write("include/a.h", "open");
  const auto files = tree.Strangers({"include"});
  CHECK(files->Look({0, "a.h"})->digest == Sha256("open"));
  CHECK(*files->Read({0, "a.h"})->bytes == "open");
  CHECK(files->Look({0, ""})->kind == FileKind::kDirectory);
  CHECK(files->Look({0, "b.h"})->kind == FileKind::kAbsent);
  CHECK(files->Look({0, "b/c.h"})->kind == FileKind::kAbsent);
}

TEST_CASE("a stranger's client must send what not everybody may read") {
  const mode_t mode = GENERATE(0600, 0640, 0604, 0044, 0000, 0333);
  FileTree tree;
  tree.Write("include/a.h", "closed");
  tree.Link("include/link.h", "a.h");
  tree.Settle("include/a.h");
  REQUIRE(tree.Own({"include"})->Look({0, "a.h"}).ok());  // its digest is known now
  tree.Mode("include/a.h", mode);
  const auto files = tree.Strangers({"include"});
  for (const char* name : {"a.h", "link.h"}) {
    const Error error = ErrorOf(files->Look({0, name}));
    CHECK(error.code == ErrorCode::kFilesNeeded);
    CHECK_THAT(error.message, Contains(tree.Path("include/") + name));
    CHECK(ErrorOf(files->Read({0, name})).code == ErrorCode::kFilesNeeded);
  }
}

TEST_CASE("a stranger does not learn from a directory that not everybody may search") {
  const mode_t mode = GENERATE(0700, 0750, 0744, 0705);
  FileTree tree;
  tree.Write("private/deep/a.h", "closed");
  tree.Directory("include");
  tree.Link("include/link", "../private/deep");
  tree.Link("include/a.h", "../private/deep/a.h");
  tree.Mode("private", mode);
  const auto files = tree.Strangers({"private", "private/deep", "include"});
  const std::vector<FileName> names = {{0, "a.h"},      {0, "none.h"},    {0, "deep"},
                                       {0, "none/a.h"}, {1, "a.h"},       {1, "none.h"},
                                       {1, ""},         {2, "link/a.h"},  {2, "link/none.h"},
                                       {2, "a.h"},      {2, "link/../.."}};
  for (const FileName& name : names) {
    INFO(name.root << ' ' << name.below);
    CHECK(ErrorOf(files->Look(name)).code == ErrorCode::kFilesNeeded);
    CHECK(ErrorOf(files->Read(name)).code == ErrorCode::kFilesNeeded);
  }
  CHECK(files->Look({0, ""})->kind == FileKind::kDirectory);
}

TEST_CASE("a directory that everybody may search but not list gives its files") {
  FileTree tree;
  tree.Write("include/a.h", "open");
  tree.Mode("include", 0711);
  const auto files = tree.Strangers({"include"});
  CHECK(files->Look({0, "a.h"})->digest == Sha256("open"));
  CHECK(files->Look({0, "b.h"})->kind == FileKind::kAbsent);
}

TEST_CASE("an error does not tell a stranger where a symlink leads") {
  FileTree tree;
  tree.Write("secret-name/a.h", "closed");
  tree.Mode("secret-name", 0700);
  tree.Directory("include");
  tree.Link("include/a.h", "../secret-name/a.h");
  const Error error = ErrorOf(tree.Strangers({"include"})->Look({0, "a.h"}));
  CHECK_THAT(error.message, !Contains("secret-name"));
}

TEST_CASE("a stranger gets nothing that the service's user owns") {
  FileTree tree;
  tree.Write("include/a.h", "open");
  constexpr uid_t kService = 54320;
  const bool root = geteuid() == 0;  // may give the file away
  if (root) REQUIRE(chown(tree.Path("include/a.h").c_str(), kService, kService) == 0);
  const uid_t owner = root ? kService : geteuid();
  CHECK(ErrorOf(tree.With(Reach(kStranger, owner), {"include"})->Look({0, "a.h"})).code ==
        ErrorCode::kFilesNeeded);
  CHECK(tree.With(Reach(kStranger, owner + 1), {"include"})->Look({0, "a.h"}).ok());
}

TEST_CASE("a daemon that runs as root gives strangers what root owns and everybody may read") {
  struct statx status {};
  status.stx_uid = 0;
  status.stx_mode = S_IFREG | 0644;
  CHECK(Reach(kStranger, 0).MayRead(status));
  status.stx_mode = S_IFREG | 0640;
  CHECK_FALSE(Reach(kStranger, 0).MayRead(status));
  CHECK(Reach(0, 0).MayRead(status));
}

TEST_CASE("the daemon's own user gets whatever the daemon can read") {
  FileTree tree;
  tree.Write("private/a.h", "closed");
  tree.Mode("private/a.h", 0600);
  tree.Mode("private", 0700);
  CHECK(tree.Own({"private"})->Look({0, "a.h"})->digest == Sha256("closed"));
}

TEST_CASE("what the daemon itself can't reach, its user's client must send") {
  FileTree tree;
  tree.Write("private/a.h", "closed");
  tree.Write("include/a.h", "closed");
  tree.Mode("include/a.h", 0000);
  tree.Mode("private", 0000);
  std::vector<Result<SeenFile>> seen;
  // Root reaches all, but not a thread that gave up root's rights over files.
  std::thread([&] {
    if (geteuid() == 0) setfsuid(kStranger);
    const auto files = tree.Own({"private", "include"});
    for (const FileName& name : {FileName{0, "a.h"}, {0, "none.h"}, {1, "a.h"}}) {
      seen.push_back(files->Look(name));
    }
  }).join();
  for (const auto& each : seen) CHECK(ErrorOf(each).code == ErrorCode::kFilesNeeded);
  tree.Mode("private", 0755);
}

TEST_CASE("an access list, which may shut out those that ask, counts as closed to strangers") {
  FileTree tree;
  tree.Write("include/a.h", "listed");
  tree.Write("listed/a.h", "open");
  tree.Mode("include/a.h", 0755);
  tree.ShutOut("include/a.h", kStranger);
  tree.ShutOut("listed", kStranger);
  tree.Settle("include/a.h");
  const auto own = tree.Own({"include", "listed"});
  CHECK(own->Look({0, "a.h"})->digest == Sha256("listed"));  // and so it is remembered
  CHECK(own->Look({1, "a.h"})->digest == Sha256("open"));
  const auto files = tree.Strangers({"include", "listed"});
  CHECK(ErrorOf(files->Look({0, "a.h"})).code == ErrorCode::kFilesNeeded);
  CHECK(ErrorOf(files->Look({1, "a.h"})).code == ErrorCode::kFilesNeeded);
  CHECK(ErrorOf(files->Look({1, "none.h"})).code == ErrorCode::kFilesNeeded);
}
