// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/files/access_rules.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <filesystem>

#include "daemon/files/file_stamp.h"
#include "tests/unit/files/file_tree.h"

using namespace cccl_cache::daemon;
using cccl_cache::FileDescriptor;

namespace {

using Kind = PathError::Kind;

constexpr uid_t kOtherDaemon = 54320;
constexpr uid_t kStranger = 54321;

AccessRules Own(std::vector<std::string> own_directories = {}) {
  return {Reach(geteuid(), geteuid()), std::move(own_directories)};
}
AccessRules Strangers(std::vector<std::string> own_directories = {}) {
  return {Reach(kStranger, kOtherDaemon), std::move(own_directories)};
}

FileDescriptor OpenPath(const std::string& path) {
  FileDescriptor file(open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  REQUIRE(file.valid());
  return file;
}

struct statx StatusOf(const FileDescriptor& file) {
  struct statx status {};
  REQUIRE(StatusAt(file.get(), "", &status) == 0);
  return status;
}

/// None: it may be searched, or given.
std::optional<Kind> SearchOf(AccessRules rules, const std::string& path) {
  const FileDescriptor directory = OpenPath(path);
  const auto reached = rules.CheckSearch(directory.get(), StatusOf(directory));
  if (const auto* obstacle = std::get_if<PathError>(&reached)) return obstacle->kind;
  return std::nullopt;
}
std::optional<Kind> TargetOf(AccessRules rules, const std::string& path) {
  const FileDescriptor file = OpenPath(path);
  const auto reached = rules.CheckTarget(file.get(), "", StatusOf(file));
  if (const auto* obstacle = std::get_if<PathError>(&reached)) return obstacle->kind;
  return std::nullopt;
}

}  // namespace

TEST_CASE(
    "a directory is searched for a stranger if everybody may, and for the daemon's user anyway") {
  FileTree tree;
  tree.Directory("open");
  tree.Directory("closed");
  tree.Directory("listed");
  tree.Mode("open", 0711);
  tree.Mode("closed", 0700);
  tree.ShutOut("listed", kStranger);
  CHECK(SearchOf(Strangers(), tree.Path("open")) == std::nullopt);
  CHECK(SearchOf(Strangers(), tree.Path("closed")) == Kind::kClientOnly);
  CHECK(SearchOf(Strangers(), tree.Path("listed")) == Kind::kClientOnly);
  for (const char* name : {"open", "closed", "listed"}) {
    CHECK(SearchOf(Own(), tree.Path(name)) == std::nullopt);
  }
}

TEST_CASE(
    "a file is given to a stranger if everybody may read it, and to the daemon's user anyway") {
  FileTree tree;
  tree.Write("open", "");
  tree.Write("closed", "");
  tree.Mode("closed", 0640);
  CHECK(TargetOf(Strangers(), tree.Path("open")) == std::nullopt);
  CHECK(TargetOf(Strangers(), tree.Path("closed")) == Kind::kClientOnly);
  CHECK(TargetOf(Own(), tree.Path("closed")) == std::nullopt);
}

TEST_CASE("of a directory that is the target it is told that it is there, whoever may search it") {
  FileTree tree;
  tree.Directory("closed");
  tree.Mode("closed", 0700);
  CHECK(TargetOf(Strangers(), tree.Path("closed")) == std::nullopt);
}

TEST_CASE("only regular files of a bounded size are given") {
  FileTree tree;
  REQUIRE(mkfifo(tree.Path("fifo").c_str(), 0644) == 0);
  CHECK(TargetOf(Own(), tree.Path("fifo")) == Kind::kSpecial);
  tree.Write("file", "");
  std::filesystem::resize_file(tree.Path("file"), kMaxFileBytes);
  CHECK(TargetOf(Own(), tree.Path("file")) == std::nullopt);
  std::filesystem::resize_file(tree.Path("file"), kMaxFileBytes + 1);
  CHECK(TargetOf(Own(), tree.Path("file")) == Kind::kTooLarge);
}

TEST_CASE("what is too large and closed tells a stranger nothing of its size") {
  FileTree tree;
  tree.Write("file", "");
  std::filesystem::resize_file(tree.Path("file"), kMaxFileBytes + 1);
  tree.Mode("file", 0600);
  CHECK(TargetOf(Strangers(), tree.Path("file")) == Kind::kClientOnly);
}

TEST_CASE(
    "the daemon's own directories, /dev and the kernel's file systems are refused to everybody") {
  FileTree tree;
  tree.Directory("state");
  for (const bool own : {true, false}) {
    const AccessRules rules = own ? Own({tree.Path("state")}) : Strangers({tree.Path("state")});
    CHECK(SearchOf(rules, tree.Path("state")) == Kind::kRefused);
    CHECK(TargetOf(rules, tree.Path("state")) == Kind::kRefused);
    CHECK(SearchOf(rules, "/dev") == Kind::kRefused);
    // No directory that is known by what it is, but the file system is.
    CHECK(SearchOf(rules, "/proc/self") == Kind::kRefused);
    CHECK(TargetOf(rules, "/proc/version") == Kind::kRefused);
  }
}

TEST_CASE("what may be given is opened for reading by the descriptor that was judged") {
  FileTree tree;
  tree.Write("a.h", "judged");
  const FileDescriptor judged = OpenPath(tree.Path("a.h"));
  std::filesystem::rename(tree.Path("a.h"), tree.Path("b.h"));
  tree.Write("a.h", "swapped");
  for (const bool own : {true, false}) {
    auto contents = (own ? Own() : Strangers()).OpenContents(judged.get());
    REQUIRE(std::holds_alternative<FileDescriptor>(contents));
    const int fd = std::get<FileDescriptor>(contents).get();
    std::array<char, 16> bytes{};
    CHECK(read(fd, bytes.data(), bytes.size()) == 6);
    CHECK(std::string(bytes.data()) == "judged");
    CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
  }
}

TEST_CASE("a stranger's file is opened without the daemon's rights, and not by an access list") {
  FileTree tree;
  tree.Write("closed", "");
  tree.Mode("closed", 0000);
  tree.Write("listed", "");
  tree.ShutOut("listed", kStranger);
  for (const char* name : {"closed", "listed"}) {
    const auto contents = Strangers().OpenContents(OpenPath(tree.Path(name)).get());
    REQUIRE(std::holds_alternative<PathError>(contents));
    CHECK(std::get<PathError>(contents).kind == Kind::kClientOnly);
  }
  CHECK(std::holds_alternative<FileDescriptor>(
      Own().OpenContents(OpenPath(tree.Path("listed")).get())));
}

TEST_CASE("what was open and can't be opened again is a failure, never taken for absent") {
  const auto contents = Own().OpenContents(-1);
  REQUIRE(std::holds_alternative<PathError>(contents));
  CHECK(std::get<PathError>(contents).kind == Kind::kFailed);
  CHECK(std::get<PathError>(contents).error == ENOENT);
}

TEST_CASE("access lists matter for strangers alone") {
  CHECK(Strangers().AccessListsMatter());
  CHECK_FALSE(Own().AccessListsMatter());
}
