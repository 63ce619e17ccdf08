// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/files/file_view.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files/file_descriptor.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/worker/answering_daemon.h"

namespace file_view_test {

using namespace cccl_cache::daemon;
using cccl_cache::FileDescriptor;
namespace fs = std::filesystem;

namespace {

WorkerJob JobOver(const std::string& trusted) {
  WorkerJob job;
  job.program_name = "/cccl-root-0/prog.cu";
  job.visible_working_directory = "/cccl-cwd";
  job.mounts = {{"/cccl-root-1", trusted}};
  return job;
}

/// A toolchain in trusted/, a user's files in user/, and a daemon without files.
struct Scene {
  Scene() {
    directory.Write("trusted/cub/cub.cuh", "cub");
    directory.Write("trusted/top.h", "top");
    directory.Write("user/mine.h", "mine");
  }
  [[nodiscard]] std::vector<std::string> asked() const { return daemon.asked(); }
  [[nodiscard]] std::vector<std::string> announced() const { return daemon.announced(); }

  TemporaryDirectory directory;
  std::string trusted = directory.path() + "/trusted";
  std::string user = directory.path() + "/user";
  AnsweringDaemon daemon{{}};
  FileClient client{daemon.socket()};
  FileView view{JobOver(trusted), {trusted}, {.asked = &client}};
};

using Names = std::vector<std::string>;

/// Returns the text that a compiler reads under a name; "-" and the error if it can't open it.
std::string Read(FileView& view, std::string_view name) {
  const int opened = view.Open(name, O_RDONLY);
  if (opened < 0) return "-" + std::to_string(-opened);
  const FileDescriptor file(opened);
  char text[64];
  const ssize_t length = read(file.get(), text, sizeof(text));
  return {text, length > 0 ? static_cast<size_t>(length) : 0};
}

const std::string kNone = "-" + std::to_string(ENOENT);

bool Exists(FileView& view, std::string_view name) {
  struct stat status;
  return view.Stat(name, &status) == 0;
}

}  // namespace

TEST_CASE("the toolchain's own files, present or absent, are not asked for") {
  Scene scene;
  FileView& view = scene.view;
  CHECK(Read(view, "/cccl-root-1/cub/cub.cuh") == "cub");
  CHECK(Read(view, "/cccl-root-1/cub/../top.h") == "top");
  CHECK(Read(view, scene.trusted + "/top.h") == "top");
  CHECK(Exists(view, "/cccl-root-1/cub/cub.cuh"));
  CHECK(Exists(view, "/cccl-root-1/cub"));
  CHECK(Exists(view, "/cccl-root-1/cub/.."));
  for (const char* name : {"/cccl-root-1/none.h", "/cccl-root-1/no/such/none.h"}) {
    CHECK(Read(view, name) == kNone);
    CHECK_FALSE(Exists(view, name));
  }
  CHECK(scene.asked().empty());
}

TEST_CASE("a look-up in the toolchain is announced once per entry of the header directory") {
  Scene scene;
  FileView& view = scene.view;
  CHECK(Read(view, "/cccl-root-1/cub/cub.cuh") == "cub");
  CHECK(Read(view, "/cccl-root-1/cub/none.cuh") == kNone);
  CHECK_FALSE(Exists(view, "/cccl-root-1/none.h"));
  CHECK(Read(view, "/cccl-root-1/cub/../top.h") == "top");
  CHECK(Read(view, scene.trusted + "/top.h") == "top");
  CHECK(scene.announced() == Names{"/cccl-root-1/cub", "/cccl-root-1/none.h",
                                   "/cccl-root-1/cub/../top.h", scene.trusted + "/top.h"});
}

TEST_CASE("without a daemon no file outside the toolchain exists") {
  Scene scene;
  FileView view(JobOver(scene.trusted), {scene.trusted}, {});
  CHECK(Read(view, "/cccl-root-1/top.h") == "top");
  for (const std::string& name :
       {scene.user + "/mine.h", scene.trusted + "/../user/mine.h", std::string("mine.h")}) {
    CHECK(Read(view, name) == kNone);
    CHECK_FALSE(Exists(view, name));
  }
  CHECK(Exists(view, "."));
}

TEST_CASE("a file's name with the form of a directory's is absent") {
  Scene scene;
  AnsweringDaemon daemon{{{"/u/x.h", {FileKind::kFile, 1, "text"}}}};
  FileClient client{daemon.socket()};
  FileView view(JobOver(scene.trusted), {scene.trusted}, {.asked = &client});
  const std::string not_a_directory = "-" + std::to_string(ENOTDIR);
  CHECK(Read(view, "/u/x.h") == "text");
  for (const char* name : {"/u/x.h/", "/u/x.h/.", "/u/x.h//", "/u/x.h/./", "/cccl-root-1/top.h/"}) {
    CHECK(Read(view, name) == not_a_directory);
    CHECK_FALSE(Exists(view, name));
  }
  CHECK(Exists(view, "/cccl-root-1/cub/"));
}

TEST_CASE("the kernel's own files are asked for like all files outside the toolchain") {
  Scene scene;
  const Names names = {"/proc/self/maps", "/dev/null", "/x/../proc/self/maps"};
  for (const std::string& name : names) {
    CHECK(Read(scene.view, name) == kNone);
    CHECK_FALSE(Exists(scene.view, name));
  }
  CHECK(scene.asked() == names);
}

TEST_CASE("a name that leaves the toolchain by '..' is outside") {
  Scene scene;
  FileView& view = scene.view;
  CHECK(Read(view, "/cccl-root-1/../user/mine.h") == kNone);
  CHECK_FALSE(Exists(view, "/cccl-root-1/../user/mine.h"));
  CHECK(scene.asked() == Names{"/cccl-root-1/../user/mine.h"});
}

TEST_CASE("the target of a toolchain's symlink counts as inside, wherever it lies") {
  Scene scene;
  scene.directory.Write("store/block/sort.h", "sort");
  scene.directory.Write("store/config.h", "config");
  fs::create_symlink(scene.user + "/mine.h", scene.trusted + "/link.h");
  fs::create_directory_symlink(scene.directory.path() + "/store", scene.trusted + "/sub");
  FileView& view = scene.view;
  CHECK(Read(view, "/cccl-root-1/link.h") == "mine");
  CHECK(Exists(view, "/cccl-root-1/link.h"));
  // As for `#include "../config.h"` in sort.h, before sort.h itself is read.
  CHECK(Read(view, "/cccl-root-1/sub/block/../config.h") == "config");
  CHECK(Read(view, "/cccl-root-1/sub/block/sort.h") == "sort");
  CHECK(Exists(view, "/cccl-root-1/sub/block/../config.h"));
  CHECK(FileDescriptor(view.OpenDirectory("/cccl-root-1/sub/block")).valid());
  CHECK(scene.asked().empty());
}

TEST_CASE("a name that leaves the target of a toolchain's symlink by '..' is outside") {
  Scene scene;
  scene.directory.Write("store/thrust/sort.h", "sort");
  scene.directory.Write("store/other.h", "other");
  fs::create_directory_symlink(scene.directory.path() + "/store/thrust", scene.trusted + "/sub");
  FileView& view = scene.view;
  CHECK(Read(view, "/cccl-root-1/sub/sort.h") == "sort");
  CHECK(Read(view, "/cccl-root-1/sub/../other.h") == kNone);
  CHECK_FALSE(Exists(view, "/cccl-root-1/sub/.."));
  CHECK(scene.asked() == Names{"/cccl-root-1/sub/../other.h", "/cccl-root-1/sub/.."});
}

TEST_CASE("a file beside the toolchain's directory is outside, also after other questions") {
  Scene scene;
  FileView& view = scene.view;
  Exists(view, scene.trusted);
  CHECK(Read(view, "/cccl-root-1/cub/../../user/mine.h") == kNone);
  CHECK(scene.asked() == Names{scene.trusted, "/cccl-root-1/cub/../../user/mine.h"});
}

TEST_CASE("the target of a toolchain's symlink is outside under its own name") {
  Scene scene;
  fs::create_directory_symlink(scene.user, scene.trusted + "/sub");
  FileView& view = scene.view;
  CHECK(Read(view, "/cccl-root-1/sub/mine.h") == "mine");
  CHECK(scene.asked().empty());
  CHECK(Read(view, scene.user + "/mine.h") == kNone);
  CHECK(scene.asked() == Names{scene.user + "/mine.h"});
}

TEST_CASE("Python's files in the toolchain are outside: they are not part of its identity") {
  Scene scene;
  scene.directory.Write("trusted/__pycache__/top.h", "cached");
  FileView& view = scene.view;
  CHECK(Read(view, "/cccl-root-1/__pycache__/top.h") == kNone);
  CHECK_FALSE(Exists(view, "/cccl-root-1/__pycache__/top.h"));
  CHECK(scene.asked() == Names{"/cccl-root-1/__pycache__/top.h"});
}

TEST_CASE("a symlink in the toolchain leads to no file of /proc or /sys") {
  Scene scene;
  fs::create_symlink("/proc/self/status", scene.trusted + "/status.h");
  FileView& view = scene.view;
  CHECK(Read(view, "/cccl-root-1/status.h") == kNone);
  CHECK_FALSE(Exists(view, "/cccl-root-1/status.h"));
}

TEST_CASE("a symlink inside the toolchain stays inside") {
  Scene scene;
  fs::create_symlink("top.h", scene.trusted + "/link.h");
  fs::create_directory_symlink("cub", scene.trusted + "/sub");
  FileView& view = scene.view;
  CHECK(Read(view, "/cccl-root-1/link.h") == "top");
  CHECK(Read(view, "/cccl-root-1/sub/cub.cuh") == "cub");
  struct stat status;
  REQUIRE(view.Stat("/cccl-root-1/link.h", &status) == 0);
  CHECK(S_ISREG(status.st_mode));
  CHECK(scene.asked().empty());
}

TEST_CASE("visible directories have a made-up inode and a constant time") {
  Scene scene;
  FileView& view = scene.view;
  struct stat status;
  REQUIRE(view.Stat("/cccl-root-1", &status) == 0);
  CHECK(S_ISDIR(status.st_mode));
  CHECK(status.st_mtim.tv_sec == 1);
  REQUIRE(view.Stat(".", &status) == 0);
  CHECK(S_ISDIR(status.st_mode));
  CHECK(status.st_mtim.tv_sec == 1);
}

TEST_CASE("a file can't be opened for writing, and nothing is written") {
  Scene scene;
  FileView& view = scene.view;
  CHECK(view.Open(scene.user + "/mine.h", O_WRONLY | O_TRUNC) == -ENOENT);
  CHECK(view.Open(scene.user + "/new.h", O_RDWR | O_CREAT) == -ENOENT);
  CHECK(view.Open("/cccl-root-1/top.h", O_RDWR) == -ENOENT);
  CHECK_FALSE(fs::exists(scene.user + "/new.h"));
  CHECK(fs::file_size(scene.user + "/mine.h") == 4);
  CHECK(view.Remove(scene.user + "/mine.h") == -EACCES);
  CHECK(fs::exists(scene.user + "/mine.h"));
}

TEST_CASE("scratch files live in memory, and an open starts at the beginning") {
  Scene scene;
  FileView& view = scene.view;
  const std::string name = "/tmp/edg1_" + std::to_string(getpid());
  {
    const FileDescriptor file(view.Open(name, O_RDWR | O_CREAT | O_TRUNC));
    REQUIRE(file.valid());
    REQUIRE(write(file.get(), "scratch", 7) == 7);
  }
  CHECK_FALSE(fs::exists(name));
  CHECK(Exists(view, name));
  CHECK(Read(view, name) == "scratch");
  CHECK(Read(view, name) == "scratch");
  CHECK(view.Open(name, O_RDWR | O_CREAT | O_EXCL) == -EEXIST);
  CHECK(view.Remove(name) == 0);
  CHECK(Read(view, name) == kNone);
  CHECK(scene.asked().empty());
}

TEST_CASE("only the toolchain's directories can be listed") {
  Scene scene;
  FileView& view = scene.view;
  const FileDescriptor root(view.OpenDirectory("/cccl-root-1"));
  CHECK(root.valid());
  const FileDescriptor sub(view.OpenDirectory("/cccl-root-1/cub"));
  CHECK(sub.valid());
  CHECK(view.OpenDirectory(scene.user) == -ENOENT);
  CHECK(view.OpenDirectory("/cccl-root-1/../user") == -ENOENT);
  CHECK(view.OpenDirectory("/") == -ENOENT);
  CHECK(scene.asked().empty());
}

TEST_CASE("the visible path of a name has no dots") {
  Scene scene;
  FileView& view = scene.view;
  CHECK(view.VisiblePath("a/../b.h") == "/cccl-cwd/b.h");
  CHECK(view.VisiblePath("/cccl-root-1/./cub/") == "/cccl-root-1/cub");
  CHECK(view.working_directory() == "/cccl-cwd");
}

TEST_CASE("the headers in the compiler's library are read from memory, and nothing else is there") {
  TemporaryDirectory directory;
  directory.Write("unpacked/cccl/cub/cub.cuh", "cub");
  directory.Write("unpacked/top.h", "top");
  const Result<BundledHeaders> bundled = BundledHeaders::Read(directory.path() + "/unpacked");
  REQUIRE(bundled.ok());
  fs::remove_all(directory.path() + "/unpacked");
  AnsweringDaemon daemon{{}};
  FileClient client{daemon.socket()};
  FileView view{JobOver(directory.path()), {}, {.asked = &client, .bundled = &*bundled}};
  CHECK(Read(view, "/cccl-root-bundled/top.h") == "top");
  CHECK(Read(view, "/cccl-root-bundled/cccl/cub/../cub/./cub.cuh") == "cub");
  CHECK(Exists(view, "/cccl-root-bundled"));
  CHECK(Exists(view, "/cccl-root-bundled/cccl"));
  CHECK(Read(view, "/cccl-root-bundled/cub/cub.cuh") == kNone);
  CHECK_FALSE(Exists(view, "/cccl-root-bundled/none.h"));
  CHECK(view.Open("/cccl-root-bundled/new.h", O_WRONLY | O_CREAT) == -ENOENT);
  struct stat one;
  struct stat other;
  REQUIRE(view.Stat("/cccl-root-bundled/top.h", &one) == 0);
  REQUIRE(view.Stat("/cccl-root-bundled/cccl/cub/cub.cuh", &other) == 0);
  CHECK(one.st_ino != other.st_ino);
  CHECK(daemon.asked().empty());
  FileView without{JobOver(directory.path()), {}, {.asked = &client}};
  CHECK(Read(without, "/cccl-root-bundled/top.h") == kNone);
}

}  // namespace file_view_test
