// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

#include "daemon/files/file_systems.h"
#include "tests/support/root.h"
#include "tests/unit/files/file_tree.h"

namespace refused_places_test {

using namespace cccl_cache::daemon;
using Catch::Matchers::Contains;

namespace fs = std::filesystem;

namespace {

void CheckRefused(RequesterFiles& files, const FileName& name) {
  INFO(name.root << ' ' << name.below);
  const Error error = ErrorOf(files.Look(name));
  CHECK(error.code == ErrorCode::kDenied);
  CHECK_THAT(error.message, Contains("/proc, /sys, /dev, or the daemon's own directories"));
  CHECK(ErrorOf(files.Read(name)).message == error.message);
}

void CheckAbsent(RequesterFiles& files, const FileName& name) {
  INFO(name.root << ' ' << name.below);
  const Result<SeenFile> seen = files.Look(name);
  REQUIRE(seen.ok());
  CHECK(seen->kind == FileKind::kAbsent);
  CHECK(files.Read(name)->seen.kind == FileKind::kAbsent);
}

/// Returns the error without the name at its beginning.
std::string WithoutName(const Error& error) {
  return error.message.substr(error.message.find(' '));
}

/// Returns a directory below /dev on /dev's file system.
std::string PartOfDev() {
  struct stat dev {};
  REQUIRE(stat("/dev", &dev) == 0);
  for (const fs::directory_entry& entry : fs::directory_iterator("/dev")) {
    struct stat status {};
    if (lstat(entry.path().c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
        status.st_dev == dev.st_dev) {
      return entry.path();
    }
  }
  return "/dev";
}

}  // namespace

TEST_CASE("existing names in /proc, /sys and /dev are refused, others absent") {
  FileTree tree;
  const auto [place, entry] =
      GENERATE(table<std::string, std::string>({{"/proc", "version"},
                                                {"/proc", "sys/kernel/ostype"},
                                                {"/sys", "kernel/uevent_seqnum"},
                                                {"/dev", "null"}}));
  tree.Directory("include");
  tree.Link("include/link", place);
  tree.Link("include/deep", place + "/" + entry);
  const RootDirectories directories{{place, tree.Path("include")}, ""};
  const bool own = GENERATE(true, false);
  HostFiles files(
      Reach(own ? FileReach::kDaemons : FileReach::kEverybodys, own ? geteuid() : geteuid() + 1),
      directories, {}, tree.memory);
  CheckRefused(files, {0, ""});
  CheckRefused(files, {0, entry});
  CheckRefused(files, {1, "link"});
  CheckRefused(files, {1, "link/" + entry});
  CheckRefused(files, {1, "deep"});
  CheckRefused(files, {kAbsoluteRoot, "/tmp/.." + place + "/" + entry});
  CheckAbsent(files, {0, "a.h"});
  CheckAbsent(files, {0, entry + "/a.h"});
  CheckAbsent(files, {1, "link/a.h"});
  CheckAbsent(files, {kAbsoluteRoot, "/tmp/.." + place + "/none/none"});
}

TEST_CASE("the existence of a process is not disclosed") {
  FileTree tree;
  tree.Link("own", "/proc/self");
  for (const bool own : {true, false}) {
    HostFiles files(
        Reach(own ? FileReach::kDaemons : FileReach::kEverybodys, own ? geteuid() : geteuid() + 1),
        {{"/proc", tree.Path("")}, ""}, {}, tree.memory);
    for (const char* name : {"1", "4194999", "1/h.h", "4194999/h.h", "self", "self/h.h",
                             "thread-self/none", "self/fd/0", "self/fd/99999", "1/../version"}) {
      CheckRefused(files, {0, name});
    }
    CheckRefused(files, {1, "own/h.h"});
  }
}

TEST_CASE("a name in /dev/fd that is no number is absent") {
  FileTree tree;
  const auto files = tree.Own({""});
  CheckAbsent(*files, {kAbsoluteRoot, "/dev/fd/h.h"});
  CheckAbsent(*files, {kAbsoluteRoot, "/proc/self/fd/sub/h.h"});
  CheckRefused(*files, {kAbsoluteRoot, "/dev/fd/0"});
  CheckRefused(*files, {kAbsoluteRoot, "/dev/stdin"});
}

TEST_CASE("files on another file system below /dev are permitted") {
  struct stat dev {
  }, shm{};
  REQUIRE((stat("/dev", &dev) == 0 && stat("/dev/shm", &shm) == 0));
  REQUIRE(dev.st_dev != shm.st_dev);
  FileTree tree;
  std::string place = "/dev/shm/refused_places_test-XXXXXX";
  REQUIRE(mkdtemp(place.data()) != nullptr);
  REQUIRE(chmod(place.c_str(), 0755) == 0);
  std::ofstream(place + "/h.h") << "text";
  for (const bool own : {true, false}) {
    HostFiles files(
        Reach(own ? FileReach::kDaemons : FileReach::kEverybodys, own ? geteuid() : geteuid() + 1),
        {{place}, ""}, {}, tree.memory);
    CHECK(*files.Read({0, "h.h"})->bytes == "text");
    CheckAbsent(files, {0, "none.h"});
  }
  fs::remove_all(place);
}

TEST_CASE("files in the daemon's own directories are refused, whatever name leads there") {
  FileTree tree;
  tree.Write("state/db/CURRENT", "secret");
  tree.Write("include/a.h", "");
  tree.Link("include/state", "../state");
  tree.Link("include/current", tree.Path("state/db/CURRENT"));
  tree.Link("alias", "state");
  tree.refused = {tree.Path("alias"), tree.Path("not-made-yet")};
  const auto files = GENERATE(true, false) ? tree.Own({"state", "include", "state/db"})
                                           : tree.Strangers({"state", "include", "state/db"});
  CheckRefused(*files, {0, ""});
  CheckRefused(*files, {0, "db/CURRENT"});
  CheckRefused(*files, {2, "CURRENT"});
  CheckRefused(*files, {2, "../../include/a.h"});
  CheckRefused(*files, {1, "state"});
  CheckRefused(*files, {1, "state/db/CURRENT"});
  CheckRefused(*files, {1, "current"});
  CheckRefused(*files, {1, "../state/db"});
  CHECK(files->Look({1, "a.h"}).ok());
}

TEST_CASE("the existence of a name in a refused place is not disclosed") {
  FileTree tree;
  tree.Write("state/there.h", "secret");
  tree.refused = {tree.Path("state")};
  const auto files = tree.Own({"state"});
  for (const char* name : {"none.h", "none/none.h", "there.h/x", ""}) {
    CHECK(WithoutName(ErrorOf(files->Look({0, name}))) ==
          WithoutName(ErrorOf(files->Look({0, "there.h"}))));
  }
}

TEST_CASE("a refused directory is refused under a new name too") {
  FileTree tree;
  tree.Write("state/there.h", "secret");
  tree.refused = {tree.Path("state")};
  const auto files = tree.Own({"state", "moved"});
  CheckRefused(*files, {0, "there.h"});
  fs::rename(tree.Path("state"), tree.Path("moved"));
  CheckRefused(*files, {1, "there.h"});
}

TEST_CASE("refused places are refused under other mounts too", "[root]") {
  RequireRoot();
  FileTree tree;
  tree.Write("state/there.h", "secret");
  tree.refused = {tree.Path("state")};
  for (const char* name : {"proc", "net", "dev", "devices", "again"}) tree.Directory(name);
  tree.Write("file.h", "");
  const std::string part_of_dev = PartOfDev();
  bool mounted = false;
  // In a private mount namespace, which ends with the thread.
  std::thread([&] {
    if (unshare(CLONE_NEWNS) != 0) return;
    const auto bind = [&](const char* from, const char* to) {
      return mount(from, tree.Path(to).c_str(), nullptr, MS_BIND, nullptr) == 0;
    };
    mounted = mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
              bind("/proc", "proc") && bind("/proc/sys", "net") && bind("/dev", "dev") &&
              bind(part_of_dev.c_str(), "devices") && bind("/proc/version", "file.h") &&
              bind(tree.Path("state").c_str(), "again");
    if (!mounted) return;
    const auto files = tree.Own({""});
    for (const char* name :
         {"proc/version", "proc/1/none", "net/kernel/hostname", "net", "dev/null", "devices",
          "file.h", "again", "again/there.h", "again/none"}) {
      CheckRefused(*files, {0, name});
    }
    for (const char* name : {"proc/none", "dev/none", "devices/none"})
      CheckAbsent(*files, {0, name});
  }).join();
  if (!mounted) FAIL("this root may not mount: a container needs CAP_SYS_ADMIN");
}

}  // namespace refused_places_test
