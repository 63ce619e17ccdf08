// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/system/trusted_path.h"

#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/support/root.h"
#include "tests/unit/toolchain/toolchain_fixture.h"

namespace trusted_path_test {

using namespace cccl_cache::daemon;
using Catch::Matchers::Contains;

namespace {

constexpr uid_t kStranger = 54321;

/// Makes `name` belong to another user than the returned uid. Root changes the owner; any other
/// user gets another uid than its own.
uid_t GiveAway(const TempTree& tree, const std::string& name) {
  if (geteuid() != 0) return kStranger;
  REQUIRE(lchown(tree.Path(name).c_str(), kStranger, kStranger) == 0);
  return 0;
}

Result<TrustedPath> Follow(const TempTree& tree, const std::string& name, uid_t own = geteuid()) {
  return FollowTrusted(tree.Path(name), own, PathRole::kHolder, nullptr);
}

void CheckDenied(const Result<TrustedPath>& followed, const std::string& path) {
  REQUIRE_FALSE(followed.ok());
  CHECK(followed.error().code == ErrorCode::kDenied);
  CHECK_THAT(followed.error().message, Catch::StartsWith(path + " "));
}

}  // namespace

TEST_CASE("a file that only its owner can write is trusted below a sticky /tmp") {
  const TempTree tree;
  tree.Write("a/file", "");
  const auto followed = Follow(tree, "a/file");
  REQUIRE(followed.ok());
  CHECK(followed->path == tree.Path("a/file"));
}

TEST_CASE("a file that others can write is not trusted") {
  const TempTree tree;
  tree.Write("a/file", "");
  for (const unsigned mode : {0664u, 0646u}) {
    tree.Mode("a/file", mode);
    CheckDenied(Follow(tree, "a/file"), tree.Path("a/file"));
  }
}

TEST_CASE("a file below a directory that others can write is not trusted") {
  const TempTree tree;
  tree.Write("a/b/c/file", "");
  for (const unsigned mode : {0775u, 0757u}) {
    tree.Mode("a/b", mode);
    CheckDenied(Follow(tree, "a/b/c/file"), tree.Path("a/b"));
  }
}

TEST_CASE("a sticky directory is trusted above the file's directory, but not as that directory") {
  const TempTree tree;
  tree.Write("a/b/file", "");
  tree.Mode("a", 01777);
  CHECK(Follow(tree, "a/b/file").ok());
  tree.Mode("a", 0755);
  tree.Mode("a/b", 01777);
  CheckDenied(Follow(tree, "a/b/file"), tree.Path("a/b"));
}

TEST_CASE("a file or directory of another user is not trusted") {
  const TempTree tree;
  tree.Write("a/b/file", "");
  const std::string name = GENERATE(as<std::string>(), "a/b/file", "a/b");
  const uid_t own = GiveAway(tree, name);
  const auto followed = Follow(tree, "a/b/file", own);
  REQUIRE_FALSE(followed.ok());
  CHECK(followed.error().code == ErrorCode::kDenied);
  CHECK_THAT(followed.error().message, Catch::Contains("belongs to uid"));
}

TEST_CASE("a link is followed and the directories on the way to its target are checked") {
  const TempTree tree;
  tree.Write("real/inner/file", "");
  tree.Link("links/relative", "../real/./inner");
  tree.Link("links/absolute", tree.Path("links/relative"));
  const auto followed = Follow(tree, "links/absolute/../inner/file");
  REQUIRE(followed.ok());
  CHECK(followed->path == tree.Path("real/inner/file"));
  tree.Mode("real", 0777);
  CheckDenied(Follow(tree, "links/absolute/file"), tree.Path("real"));
}

TEST_CASE("a link that another user put into a sticky directory is not followed", "[root]") {
  RequireRoot();
  const TempTree tree;
  tree.Write("real/file", "");
  tree.Directory("shared");
  tree.Mode("shared", 01777);
  tree.Link("shared/link", tree.Path("real"));
  CHECK(Follow(tree, "shared/link/file").ok());
  GiveAway(tree, "shared/link");
  CheckDenied(Follow(tree, "shared/link/file"), tree.Path("shared/link"));
}

TEST_CASE("a path that does not exist, loops or leads through a file is unavailable") {
  const TempTree tree;
  tree.Write("file", "");
  tree.Link("loop", "loop");
  for (const char* name : {"absent", "loop", "file/below", "absent/below"}) {
    CAPTURE(name);
    const auto followed = Follow(tree, name);
    REQUIRE_FALSE(followed.ok());
    CHECK(followed.error().code == ErrorCode::kUnavailable);
  }
}

TEST_CASE("a path that is neither file nor directory is not trusted") {
  const TempTree tree;
  REQUIRE(mkfifo(tree.Path("fifo").c_str(), 0600) == 0);
  CheckDenied(Follow(tree, "fifo"), tree.Path("fifo"));
}

namespace {

constexpr uid_t kOwn = 1000;
constexpr uid_t kOther = 1001;

std::optional<std::string> Why(uid_t owner, mode_t mode, PathRole role = PathRole::kFile) {
  struct stat status {};
  status.st_uid = owner;
  status.st_gid = 7;
  status.st_mode = mode;
  return WhyNotTrusted("/opt/x", status, role, kOwn);
}

}  // namespace

TEST_CASE("a path that root or the daemon's user alone can write is trusted") {
  const uid_t owner = GENERATE(uid_t{0}, kOwn);
  CHECK_FALSE(Why(owner, S_IFREG | 0755));
  CHECK_FALSE(Why(owner, S_IFDIR | 0755, PathRole::kHolder));
  CHECK_FALSE(Why(owner, S_IFDIR | 0755, PathRole::kPassedThrough));
}

TEST_CASE("a path that another user owns is not trusted, whatever its mode") {
  const auto role = GENERATE(PathRole::kFile, PathRole::kHolder, PathRole::kPassedThrough);
  const auto why = Why(kOther, S_IFDIR | S_ISVTX | 0555, role);
  REQUIRE(why);
  CHECK_THAT(*why, Contains("/opt/x belongs to uid 1001") && Contains("chown -R root"));
}

TEST_CASE("a path that a group or all can write is not trusted; the error has its mode") {
  const mode_t mode = GENERATE(0775, 0757);
  const auto why = Why(0, S_IFREG | mode);
  REQUIRE(why);
  CHECK_THAT(*why, Contains(mode == 0775 ? "mode 0775" : "mode 0757") && Contains("group 7") &&
                       Contains("chmod -R go-w"));
  CHECK(Why(kOwn, S_IFDIR | mode, PathRole::kHolder));
  CHECK(Why(kOwn, S_IFDIR | mode, PathRole::kPassedThrough));
}

TEST_CASE("a sticky directory that all can write is trusted only if it is passed through") {
  CHECK_FALSE(Why(0, S_IFDIR | S_ISVTX | 0777, PathRole::kPassedThrough));
  CHECK(Why(0, S_IFDIR | S_ISVTX | 0777, PathRole::kHolder));
  CHECK(Why(0, S_IFREG | S_ISVTX | 0777, PathRole::kPassedThrough));
}

}  // namespace trusted_path_test
