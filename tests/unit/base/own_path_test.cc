// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/files/own_path.h"

#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>

#include "tests/support/root.h"
#include "tests/support/temporary_directory.h"

namespace own_path_test {

using cccl_cache::CacheDirectory;
using cccl_cache::FollowedDirectory;
using cccl_cache::MakeLastDirectories;
using cccl_cache::OwnDirectory;
using cccl_cache::SocketBelowHome;
using cccl_cache::daemon::RequireRoot;
using cccl_cache::daemon::TemporaryDirectory;
using std::filesystem::create_directories;
using std::filesystem::create_directory_symlink;

constexpr uid_t kSomebody = 12345;

TEST_CASE("a path through the user's own links is resolved to a path without links") {
  const TemporaryDirectory root;
  create_directories(root / "real/inner");
  create_directory_symlink(root / "real", root / "absolute");
  create_directory_symlink("../absolute/./inner", root / "real/relative");
  const FollowedDirectory found = OwnDirectory(root / "absolute/relative//../inner/");
  CHECK(found.refusal.empty());
  CHECK(found.exists);
  CHECK(found.path == root / "real/inner");
}

TEST_CASE("missing names are appended to the resolved path") {
  const TemporaryDirectory root;
  create_directories(root / "real");
  create_directory_symlink(root / "real", root / "link");
  const FollowedDirectory found = OwnDirectory(root / "link/new/newer");
  CHECK(found.refusal.empty());
  CHECK_FALSE(found.exists);
  CHECK(found.path == root / "real/new/newer");
  CHECK_FALSE(OwnDirectory(root / "link/new/../..").refusal.empty());
}

TEST_CASE("circular links, files and relative paths are refused") {
  const TemporaryDirectory root;
  create_directory_symlink(root / "circle", root / "circle");
  root.Write("file", "");
  for (const std::string& path : {root / "circle", root / "file/inner", std::string("relative")}) {
    CHECK_FALSE(OwnDirectory(path).refusal.empty());
  }
}

TEST_CASE("a path through another user's link or directory is refused", "[root]") {
  RequireRoot();
  const TemporaryDirectory root;
  create_directories(root / "real/inner");
  create_directory_symlink(root / "real", root / "link");
  REQUIRE(lchown((root / "link").c_str(), kSomebody, kSomebody) == 0);
  CHECK(OwnDirectory(root / "link/inner").refusal.find("link of another user") !=
        std::string::npos);
  REQUIRE(chown((root / "real").c_str(), kSomebody, kSomebody) == 0);
  CHECK(OwnDirectory(root / "real/inner").refusal.find(root / "real" + " belongs to") == 0);
  CHECK(OwnDirectory(root / "real", {.given_away = true}).refusal.empty());
  CHECK_FALSE(OwnDirectory(root / "real/inner", {.given_away = true}).refusal.empty());
  REQUIRE(chmod(root.path().c_str(), 0777) == 0);
  CHECK_FALSE(OwnDirectory(root / "real", {.given_away = true}).refusal.empty());
}

TEST_CASE("a missing directory below a sticky one is refused, unless the caller makes it") {
  const TemporaryDirectory root;
  create_directories(root / "sticky");
  REQUIRE(chmod((root / "sticky").c_str(), 01777) == 0);
  const FollowedDirectory missing = OwnDirectory(root / "sticky/new/newer");
  CHECK(missing.refusal.find("sticky/new/newer is missing") != std::string::npos);
  const FollowedDirectory made = OwnDirectory(root / "sticky/new/newer", {.makes_missing = true});
  CHECK(made.refusal.empty());
  CHECK_FALSE(made.exists);
  REQUIRE(chmod((root / "sticky").c_str(), 0755) == 0);
  CHECK(OwnDirectory(root / "sticky/new").refusal.empty());
}

TEST_CASE("a home has one socket per node and boot, which fits into an address") {
  const std::string path = SocketBelowHome("/home/a");
  CHECK(path == SocketBelowHome("/home/a"));
  CHECK(path.find("/home/a/.cccl-cached/socket-") == 0);
  CHECK(path.size() == std::string("/home/a/.cccl-cached/socket-0123456789abcdef").size());
  CHECK(path.size() + 50 < sizeof(sockaddr_un::sun_path));
  CHECK(SocketBelowHome("").empty());
  CHECK(SocketBelowHome("relative").empty());
}

TEST_CASE("MakeLastDirectories makes only the last ones, for this user alone, whatever the umask") {
  const TemporaryDirectory root;
  const mode_t before = umask(0);
  MakeLastDirectories(root / "home/.cache/cccl-cache", 2);
  CHECK_FALSE(std::filesystem::exists(root / "home"));
  create_directories(root / "home");
  MakeLastDirectories(root / "home/.cache/cccl-cache", 2);
  umask(before);
  for (const char* made : {"home/.cache", "home/.cache/cccl-cache"}) {
    CHECK(std::filesystem::status(root / made).permissions() == std::filesystem::perms::owner_all);
  }
  MakeLastDirectories("relative/inner", 2);
  CHECK_FALSE(std::filesystem::exists("relative"));
}

TEST_CASE("the user's cache directory needs an absolute path") {
  const std::string home = getenv("HOME");
  setenv("XDG_CACHE_HOME", "relative", 1);
  CHECK(CacheDirectory() == home + "/.cache/cccl-cache");
  setenv("XDG_CACHE_HOME", "/caches", 1);
  CHECK(CacheDirectory() == "/caches/cccl-cache");
  unsetenv("XDG_CACHE_HOME");
  for (const char* none : {"", ".", "relative"}) {
    setenv("HOME", none, 1);
    CHECK(CacheDirectory().empty());
  }
  setenv("HOME", home.c_str(), 1);
}

}  // namespace own_path_test
