// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/state_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/support/root.h"
#include "tests/unit/store/store_fixtures.h"

namespace cccl_cache::daemon::state_directory_test {
namespace {

using Catch::Matchers::Contains;

mode_t ModeOf(const std::string& path) {
  struct stat info {};
  stat(path.c_str(), &info);
  return info.st_mode & 07777;
}

TEST_CASE("a missing state directory is made, private to its owner") {
  const TemporaryDirectory temporary;
  REQUIRE(StateDirectory::Open(temporary / "a/b/state"));
  CHECK(ModeOf(temporary / "a/b/state") == 0700);
}

TEST_CASE("a state directory that others may read is made private") {
  const TemporaryDirectory temporary;
  mkdir((temporary / "state").c_str(), 0755);
  chmod((temporary / "state").c_str(), 0755);
  REQUIRE(StateDirectory::Open(temporary / "state"));
  CHECK(ModeOf(temporary / "state") == 0700);
}

TEST_CASE("a state directory that others may write is refused, and left unchanged") {
  const TemporaryDirectory temporary;
  mkdir((temporary / "state").c_str(), 0700);
  for (const mode_t mode : {0777, 01777, 0702}) {
    INFO(mode);
    chmod((temporary / "state").c_str(), mode);
    const auto directory = StateDirectory::Open(temporary / "state");
    REQUIRE_FALSE(directory);
    CHECK_THAT(directory.error().message,
               Contains(temporary / "state") && Contains("chmod") && Contains("--state-dir"));
    CHECK(ModeOf(temporary / "state") == mode);
  }
}

TEST_CASE("a second open names the holder of the lock and the state directory") {
  const TemporaryDirectory temporary;
  auto first = StateDirectory::Open(temporary / "state");
  REQUIRE(first);
  const auto second = StateDirectory::Open(temporary / "state");
  REQUIRE_FALSE(second);
  CHECK_THAT(second.error().message, Contains("locked") && Contains(temporary / "state") &&
                                         Contains(std::to_string(getpid())) &&
                                         Contains("--state-dir"));
  first->reset();
  CHECK(StateDirectory::Open(temporary / "state"));
}

TEST_CASE("each run has a greater number than those before") {
  const TemporaryDirectory temporary;
  uint64_t last = 0;
  for (int run = 0; run < 3; ++run) {
    auto directory = StateDirectory::Open(temporary / "state");
    REQUIRE(directory);
    const Result<uint64_t> number = (*directory)->CountRun();
    REQUIRE(number);
    CHECK(*number > last);
    last = *number;
    // On the disk already: a process that is killed now has been counted.
    uint64_t written = 0;
    std::ifstream(temporary / "state/runs") >> written;
    CHECK(written == last);
  }
}

TEST_CASE("an unreadable number of runs is an error, and is not reset") {
  const TemporaryDirectory temporary;
  auto directory = StateDirectory::Open(temporary / "state");
  REQUIRE(directory);
  for (const char* contents : {"", "garbage", "-5", "12abc", "12\n13\n", "8388608"}) {
    INFO(contents);
    std::ofstream(temporary / "state/runs") << contents;
    const Result<uint64_t> refused = (*directory)->CountRun();
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().message, Contains("state/runs") && Contains("holds no number"));
  }
  std::filesystem::remove(temporary / "state/runs");
  std::filesystem::create_symlink("elsewhere", temporary / "state/runs");
  const Result<uint64_t> refused = (*directory)->CountRun();
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message, Contains("runs cannot be read"));
}

TEST_CASE("the error about a state directory that can't be made names path and uid") {
  const TemporaryDirectory temporary;
  std::ofstream(temporary / "file") << "not a directory";
  for (const char* name : {"file", "file/state"}) {
    const auto directory = StateDirectory::Open(temporary / name);
    REQUIRE_FALSE(directory);
    CHECK_THAT(directory.error().message, Contains(temporary / name) &&
                                              Contains("uid " + std::to_string(geteuid())) &&
                                              Contains("--state-dir"));
  }
}

TEST_CASE("the error about a state directory that can't be written names path and uid") {
  // In /proc not even root can make directories.
  const auto directory = StateDirectory::Open("/proc/cccl-cached-state");
  REQUIRE_FALSE(directory);
  CHECK_THAT(directory.error().message, Contains("/proc/cccl-cached-state") && Contains("uid "));
}

TEST_CASE("a state directory of another user is refused", "[root]") {
  RequireRoot();
  const TemporaryDirectory temporary;
  mkdir((temporary / "state").c_str(), 0700);
  REQUIRE(chown((temporary / "state").c_str(), 4242, 4242) == 0);
  const auto directory = StateDirectory::Open(temporary / "state");
  REQUIRE_FALSE(directory);
  CHECK_THAT(directory.error().message, Contains("4242"));
}

TEST_CASE("a state directory is refused below a directory that another user can write", "[root]") {
  RequireRoot();
  const TemporaryDirectory temporary;
  mkdir((temporary / "owned").c_str(), 0755);
  REQUIRE(chown((temporary / "owned").c_str(), 4242, 4242) == 0);
  mkdir((temporary / "open").c_str(), 0755);
  chmod((temporary / "open").c_str(), 0777);
  mkdir((temporary / "good").c_str(), 0755);
  std::filesystem::create_directory_symlink(temporary / "owned", temporary / "link");
  std::filesystem::create_directory_symlink(temporary / "good", temporary / "owned/link");
  for (const char* name :
       {"owned/state", "open/state", "open/more/state", "link/state", "owned/link/state"}) {
    INFO(name);
    const auto directory = StateDirectory::Open(temporary / name);
    REQUIRE_FALSE(directory);
    CHECK_THAT(directory.error().message, Contains("--state-dir") && Contains("chmod go-w"));
  }
}

TEST_CASE("a state directory may be a symlink that no other user can change") {
  const TemporaryDirectory temporary;
  mkdir((temporary / "disk").c_str(), 0755);
  std::filesystem::create_directory_symlink(temporary / "disk", temporary / "state");
  auto directory = StateDirectory::Open(temporary / "state");
  REQUIRE(directory);
  CHECK(ModeOf(temporary / "disk") == 0700);
  CHECK((*directory)->database_path() == temporary / "disk/database");
}

TEST_CASE("a database that an earlier release kept for another version is removed") {
  const TemporaryDirectory temporary;
  const std::filesystem::path state(temporary / "state");
  std::filesystem::create_directories(state / "database.other-version/inner");
  std::filesystem::create_directories(state / "database.set-aside");
  std::filesystem::permissions(state, std::filesystem::perms::owner_all);
  REQUIRE(StateDirectory::Open(state));
  CHECK_FALSE(std::filesystem::exists(state / "database.other-version"));
  CHECK(std::filesystem::exists(state / "database.set-aside"));
}

TEST_CASE("a database set aside replaces the one set aside before") {
  const TemporaryDirectory temporary;
  auto directory = StateDirectory::Open(temporary / "state");
  REQUIRE(directory);
  for (const char* name : {"first", "second"}) {
    std::filesystem::create_directory((*directory)->database_path());
    std::ofstream((*directory)->database_path() + "/" + name) << "x";
    REQUIRE((*directory)->SetDatabaseAside());
    CHECK_FALSE(std::filesystem::exists((*directory)->database_path()));
  }
  CHECK(std::filesystem::exists((*directory)->set_aside_path() + "/second"));
  CHECK_FALSE(std::filesystem::exists((*directory)->set_aside_path() + "/first"));
}

}  // namespace
}  // namespace cccl_cache::daemon::state_directory_test
