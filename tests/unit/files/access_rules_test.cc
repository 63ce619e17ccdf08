// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/files/access_rules.h"

#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/files/file_descriptor.h"
#include "base/files/file_stamp.h"
#include "tests/unit/files/file_tree.h"

namespace access_rules_test {

using namespace cccl_cache::daemon;
using Catch::Matchers::Contains;
using cccl_cache::ContentStamp;
using cccl_cache::FileDescriptor;
using cccl_cache::FileTimeNow;
using cccl_cache::Sha256;
using cccl_cache::StatusAt;

namespace {

using Kind = PathError::Kind;

constexpr uid_t kOtherDaemon = 54320;
constexpr uid_t kStranger = 54321;

/// Returns a cache that keeps nothing.
CheckedDirectories& Forgetful() {
  static CheckedDirectories forgetful(0);
  return forgetful;
}

AccessRules Own(std::vector<std::string> own_places = {}) {
  return {Reach(FileReach::kDaemons, geteuid()), std::move(own_places), Forgetful()};
}
AccessRules Strangers(std::vector<std::string> own_places = {}) {
  return {Reach(FileReach::kEverybodys, kOtherDaemon), std::move(own_places), Forgetful()};
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

/// Returns the kind of the error, or none if the directory may be searched.
std::optional<Kind> SearchOf(AccessRules rules, const std::string& path) {
  const FileDescriptor directory = OpenPath(path);
  const auto reached = rules.CheckSearch(directory.get(), StatusOf(directory), FileTimeNow());
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

TEST_CASE("a stranger may search only directories open to all, the daemon's user every directory") {
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

TEST_CASE("a stranger may read only files open to all, the daemon's user every file") {
  FileTree tree;
  tree.Write("open", "");
  tree.Write("closed", "");
  tree.Mode("closed", 0640);
  CHECK(TargetOf(Strangers(), tree.Path("open")) == std::nullopt);
  CHECK(TargetOf(Strangers(), tree.Path("closed")) == Kind::kClientOnly);
  CHECK(TargetOf(Own(), tree.Path("closed")) == std::nullopt);
}

TEST_CASE("a target directory is reported as present, even if it may not be searched") {
  FileTree tree;
  tree.Directory("closed");
  tree.Mode("closed", 0700);
  CHECK(TargetOf(Strangers(), tree.Path("closed")) == std::nullopt);
}

TEST_CASE("only regular files up to the maximum size are permitted") {
  FileTree tree;
  REQUIRE(mkfifo(tree.Path("fifo").c_str(), 0644) == 0);
  CHECK(TargetOf(Own(), tree.Path("fifo")) == Kind::kSpecial);
  tree.Write("file", "");
  std::filesystem::resize_file(tree.Path("file"), kMaxFileBytes);
  CHECK(TargetOf(Own(), tree.Path("file")) == std::nullopt);
  std::filesystem::resize_file(tree.Path("file"), kMaxFileBytes + 1);
  CHECK(TargetOf(Own(), tree.Path("file")) == Kind::kTooLarge);
}

TEST_CASE("the error of a closed file does not tell strangers that it is too large") {
  FileTree tree;
  tree.Write("file", "");
  std::filesystem::resize_file(tree.Path("file"), kMaxFileBytes + 1);
  tree.Mode("file", 0600);
  CHECK(TargetOf(Strangers(), tree.Path("file")) == Kind::kClientOnly);
}

TEST_CASE("the daemon's own directories, /dev and the kernel's file systems are refused") {
  FileTree tree;
  tree.Directory("state");
  for (const bool own : {true, false}) {
    const AccessRules rules = own ? Own({tree.Path("state")}) : Strangers({tree.Path("state")});
    CHECK(SearchOf(rules, tree.Path("state")) == Kind::kRefused);
    CHECK(TargetOf(rules, tree.Path("state")) == Kind::kRefused);
    CHECK(TargetOf(rules, "/dev") == Kind::kRefused);
    CHECK(TargetOf(rules, "/dev/null") == Kind::kRefused);
    // These are refused because of their file system, not their directory.
    CHECK(TargetOf(rules, "/proc/sys") == Kind::kRefused);
    CHECK(TargetOf(rules, "/proc/version") == Kind::kRefused);
  }
}

TEST_CASE("a permitted file is opened for reading through the checked descriptor") {
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

TEST_CASE("a closed file or one with an access list is not opened for strangers") {
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

TEST_CASE("a checked file that can't be opened is a failure, not absent") {
  const auto contents = Own().OpenContents(-1);
  REQUIRE(std::holds_alternative<PathError>(contents));
  CHECK(std::get<PathError>(contents).kind == Kind::kFailed);
  CHECK(std::get<PathError>(contents).error == ENOENT);
}

TEST_CASE("access lists matter only for strangers") {
  CHECK(Strangers().AccessListsMatter());
  CHECK_FALSE(Own().AccessListsMatter());
}

namespace {

FileDescriptor Open(const std::string& path, int flags) {
  FileDescriptor file(open(path.c_str(), flags | O_CLOEXEC));
  REQUIRE(file.valid());
  return file;
}

}  // namespace

TEST_CASE("an access list is found through any descriptor of the file or directory") {
  FileTree tree;
  const std::string name = GENERATE("file", "directory");
  tree.Write("file", "");
  tree.Directory("directory");
  const int flags = GENERATE(O_RDONLY, O_PATH);
  CHECK_FALSE(HasAccessList(Open(tree.Path(name), flags).get()));
  tree.ShutOut(name, 54321);
  CHECK(HasAccessList(Open(tree.Path(name), flags).get()));
}

TEST_CASE("a file on a file system without access lists has none") {
  CHECK_FALSE(HasAccessList(Open("/proc/self/status", O_PATH).get()));
}

TEST_CASE("a file whose access list can't be read counts as having one") {
  CHECK(HasAccessList(-1));
}

namespace {}  // namespace

TEST_CASE("a stranger gets world-readable files") {
  FileTree tree;
  tree.Write("include/a.h", "open");
  const auto files = tree.Strangers({"include"});
  CHECK(files->Look({0, "a.h"})->digest == Sha256("open"));
  CHECK(*files->Read({0, "a.h"})->bytes == "open");
  CHECK(files->Look({0, ""})->kind == FileKind::kDirectory);
  CHECK(files->Look({0, "b.h"})->kind == FileKind::kAbsent);
  CHECK(files->Look({0, "b/c.h"})->kind == FileKind::kAbsent);
}

TEST_CASE("a stranger's client must send files that are not world-readable") {
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

TEST_CASE("a stranger learns nothing about a directory that is closed to some users") {
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

TEST_CASE("a directory that is closed to strangers is never reported absent") {
  FileTree tree;
  tree.Write("include/closed/sub/a.h", "");
  tree.Mode("include/closed", 0700);
  const auto files = tree.Strangers({"include"});
  for (const char* name : {"closed/sub/a.h", "closed/sub/a.h", "closed/b.h", "closed/none/b.h"}) {
    CHECK(ErrorOf(files->Look({0, name})).code == ErrorCode::kFilesNeeded);
  }
}

TEST_CASE("a directory is checked once for strangers, and again when its rights have changed") {
  FileTree tree;
  tree.Write("include/a.h", "open");
  tree.Settle("include");
  const auto code = [&] {
    const auto seen = tree.Strangers({"include"})->Look({0, "a.h"});
    return seen ? std::optional<ErrorCode>() : seen.error().code;
  };
  CHECK(code() == std::nullopt);
  CHECK(tree.memory->checked.Know(tree.Stamp("include")));
  tree.ShutOut("include", kStranger);
  CHECK(code() == ErrorCode::kFilesNeeded);
  tree.Settle("include");
  CHECK(code() == ErrorCode::kFilesNeeded);
  CHECK_FALSE(tree.memory->checked.Know(tree.Stamp("include")));
}

TEST_CASE("the mode of a directory is checked even if the directory is remembered as checked") {
  FileTree tree;
  tree.Write("include/a.h", "");
  tree.Mode("include", 0700);
  tree.Settle("include");
  tree.memory->checked.Remember(tree.Stamp("include"));
  CHECK(ErrorOf(tree.Strangers({"include"})->Look({0, "a.h"})).code == ErrorCode::kFilesNeeded);
}

TEST_CASE("a directory that has just changed is not remembered as checked") {
  FileTree tree;
  tree.Write("include/a.h", "");
  const ContentStamp stamp = tree.Stamp("include");
  CHECK(tree.Strangers({"include"})->Look({0, "a.h"}).ok());
  const bool looked_in_time = !stamp.IsSettledAt(FileTimeNow());
  if (looked_in_time) CHECK_FALSE(tree.memory->checked.Know(stamp));
}

TEST_CASE("files in a directory that all may search but not list are found") {
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

TEST_CASE("a stranger gets no file that the service's user owns") {
  FileTree tree;
  tree.Write("include/a.h", "open");
  constexpr uid_t kService = 54320;
  const bool root = geteuid() == 0;  // root can change the owner
  if (root) REQUIRE(chown(tree.Path("include/a.h").c_str(), kService, kService) == 0);
  const uid_t owner = root ? kService : geteuid();
  CHECK(ErrorOf(tree.With(Reach(FileReach::kEverybodys, owner), {"include"})->Look({0, "a.h"}))
            .code == ErrorCode::kFilesNeeded);
  CHECK(tree.With(Reach(FileReach::kEverybodys, owner + 1), {"include"})->Look({0, "a.h"}).ok());
}

TEST_CASE("a daemon that runs as root gives strangers root's world-readable files") {
  struct statx status {};
  status.stx_uid = 0;
  status.stx_mode = S_IFREG | 0644;
  CHECK(Reach(FileReach::kEverybodys, 0).MayRead(status));
  status.stx_mode = S_IFREG | 0640;
  CHECK_FALSE(Reach(FileReach::kEverybodys, 0).MayRead(status));
  CHECK(Reach(FileReach::kDaemons, 0).MayRead(status));
}

TEST_CASE("the daemon's own user gets whatever the daemon can read") {
  FileTree tree;
  tree.Write("private/a.h", "closed");
  tree.Mode("private/a.h", 0600);
  tree.Mode("private", 0700);
  CHECK(tree.Own({"private"})->Look({0, "a.h"})->digest == Sha256("closed"));
}

TEST_CASE("the client must send a file that the daemon can't reach") {
  FileTree tree;
  tree.Write("private/a.h", "closed");
  tree.Write("include/a.h", "closed");
  tree.Mode("include/a.h", 0000);
  tree.Mode("private", 0000);
  std::vector<Result<SeenFile>> seen;
  // Root can reach all files; a thread without root's rights can't.
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

TEST_CASE("a file or directory with an access list counts as closed to strangers") {
  FileTree tree;
  tree.Write("include/a.h", "listed");
  tree.Write("listed/a.h", "open");
  tree.Mode("include/a.h", 0755);
  tree.ShutOut("include/a.h", kStranger);
  tree.ShutOut("listed", kStranger);
  tree.Settle("include/a.h");
  const auto own = tree.Own({"include", "listed"});
  CHECK(own->Look({0, "a.h"})->digest == Sha256("listed"));  // so its digest is remembered
  CHECK(own->Look({1, "a.h"})->digest == Sha256("open"));
  const auto files = tree.Strangers({"include", "listed"});
  CHECK(ErrorOf(files->Look({0, "a.h"})).code == ErrorCode::kFilesNeeded);
  CHECK(ErrorOf(files->Look({1, "a.h"})).code == ErrorCode::kFilesNeeded);
  CHECK(ErrorOf(files->Look({1, "none.h"})).code == ErrorCode::kFilesNeeded);
}

namespace {

bool CanOpen(const std::string& path) {
  return FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC)).valid();
}

}  // namespace

TEST_CASE("StrangerRights limits what this thread can open, until it is destroyed") {
  FileTree tree;
  tree.Write("open.h", "");
  tree.Write("closed.h", "");
  tree.Mode("closed.h", 0600);
  const std::string closed = tree.Path("closed.h");
  {
    const StrangerRights rights(true);
    CHECK(CanOpen(closed) == (geteuid() != 0));  // without root's rights nothing changes
    CHECK(CanOpen(tree.Path("open.h")));
  }
  CHECK(CanOpen(closed));
}

TEST_CASE("StrangerRights does not change other threads' rights") {
  FileTree tree;
  tree.Write("closed.h", "");
  tree.Mode("closed.h", 0600);
  std::atomic<int> step = 0;
  std::thread stranger([&] {
    const StrangerRights rights(true);
    step = 1;
    while (step != 2) std::this_thread::yield();
  });
  while (step != 1) std::this_thread::yield();
  CHECK(CanOpen(tree.Path("closed.h")));
  step = 2;
  stranger.join();
}

TEST_CASE("StrangerRights drops the thread's groups and restores them") {
  const auto groups = [] {
    std::vector<gid_t> all(static_cast<size_t>(getgroups(0, nullptr)));
    (void)getgroups(static_cast<int>(all.size()), all.data());
    return all;
  };
  const std::vector<gid_t> before = groups();
  {
    const StrangerRights rights(true);
    if (geteuid() == 0) CHECK(groups().empty());
  }
  CHECK(groups() == before);
}

TEST_CASE("StrangerRights(false) changes nothing") {
  FileTree tree;
  tree.Write("closed.h", "");
  tree.Mode("closed.h", 0600);
  const StrangerRights rights(false);
  CHECK(CanOpen(tree.Path("closed.h")));
}

}  // namespace access_rules_test
