// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/file_view.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "daemon/core/file_descriptor.h"
#include "tests/unit/worker/temporary_directory.h"

using namespace cccl_cached;
namespace fs = std::filesystem;

namespace {

using Answer = OutsideFile::Answer;

/// A toolchain in trusted/, a user's files in user/, and one job over both.
struct Scene {
  Scene() {
    directory.Write("trusted/cub/cub.cuh", "cub");
    directory.Write("trusted/top.h", "top");
    directory.Write("user/mine.h", "mine");
    job.program_name = "/cccl-root-0/prog.cu";
    job.visible_working_directory = "/cccl-cwd";
    job.working_directory = user;
    job.mounts = {{false, "/cccl-root-0", user}, {true, "/cccl-root-1", trusted}};
  }

  FileView View(bool outside_files_allowed) {
    job.outside_files_allowed = outside_files_allowed;
    return FileView(job, {trusted});
  }

  TemporaryDirectory directory;
  std::string trusted = directory.path() + "/trusted";
  std::string user = directory.path() + "/user";
  WorkerJob job;
};

/// What a compiler reads under a name; "-" and the error if it can't open it.
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

/// "given /a, absent /b"
std::string Outside(const FileView& view) {
  std::string text;
  for (const OutsideFile& file : view.outside()) {
    if (!text.empty()) text += ", ";
    text += file.answer == Answer::kGiven    ? "given "
            : file.answer == Answer::kAbsent ? "absent "
                                             : "denied ";
    text += file.path;
  }
  return text;
}

}  // namespace

TEST_CASE("the toolchain's own files are given and not recorded") {
  Scene scene;
  FileView view = scene.View(false);
  CHECK(Read(view, "/cccl-root-1/cub/cub.cuh") == "cub");
  CHECK(Read(view, "/cccl-root-1/cub/../top.h") == "top");
  CHECK(Read(view, scene.trusted + "/top.h") == "top");
  CHECK(Exists(view, "/cccl-root-1/cub/cub.cuh"));
  CHECK(Exists(view, "/cccl-root-1/cub"));
  CHECK(Outside(view).empty());
}

TEST_CASE("what the toolchain lacks is absent and not recorded") {
  Scene scene;
  FileView view = scene.View(true);
  CHECK(Read(view, "/cccl-root-1/none.h") == kNone);
  CHECK(Read(view, "/cccl-root-1/no/such/none.h") == kNone);
  CHECK_FALSE(Exists(view, "/cccl-root-1/none.h"));
  CHECK_FALSE(Exists(view, "/cccl-root-1/no/such/none.h"));
  CHECK(Outside(view).empty());
}

TEST_CASE("a file outside is given to those who may have it, and recorded under its real path") {
  Scene scene;
  fs::create_symlink(scene.user + "/mine.h", scene.user + "/link.h");
  FileView view = scene.View(true);
  CHECK(Read(view, "/cccl-root-0/mine.h") == "mine");
  CHECK(Read(view, "mine.h") == "mine");
  CHECK(Read(view, "/cccl-root-0/link.h") == "mine");
  CHECK(Outside(view) == "given " + scene.user + "/mine.h");
}

TEST_CASE("to learn that a file outside exists is to be given it") {
  Scene scene;
  FileView view = scene.View(true);
  CHECK(Exists(view, "/cccl-root-0/mine.h"));
  CHECK(Outside(view) == "given " + scene.user + "/mine.h");
}

TEST_CASE("a name looked up in vain outside is recorded") {
  Scene scene;
  FileView view = scene.View(true);
  CHECK(Read(view, "/cccl-root-0/none.h") == kNone);
  CHECK_FALSE(Exists(view, "also_none.h"));
  CHECK(Outside(view) == "absent " + scene.user + "/none.h, absent " + scene.user + "/also_none.h");
}

TEST_CASE("for anybody else nothing outside exists") {
  Scene scene;
  FileView view = scene.View(false);
  CHECK(Read(view, "/cccl-root-0/mine.h") == kNone);
  CHECK_FALSE(Exists(view, "/cccl-root-0/mine.h"));
  CHECK(Read(view, "/etc/passwd") == kNone);
  CHECK(Outside(view) == "denied " + scene.user + "/mine.h, denied /etc/passwd");
}

TEST_CASE("going up out of the toolchain leads outside") {
  Scene scene;
  FileView view = scene.View(false);
  CHECK(Read(view, "/cccl-root-1/../user/mine.h") == kNone);
  CHECK_FALSE(Exists(view, "/cccl-root-1/../user/mine.h"));
  CHECK(Outside(view) == "denied " + scene.trusted + "/../user/mine.h");
}

TEST_CASE("what a symlink in the toolchain leads to is the toolchain's own, wherever it lies") {
  Scene scene;
  scene.directory.Write("store/block/sort.h", "sort");
  scene.directory.Write("store/config.h", "config");
  fs::create_symlink(scene.user + "/mine.h", scene.trusted + "/link.h");
  fs::create_directory_symlink(scene.directory.path() + "/store", scene.trusted + "/sub");
  FileView view = scene.View(false);
  CHECK(Read(view, "/cccl-root-1/link.h") == "mine");
  CHECK(Exists(view, "/cccl-root-1/link.h"));
  // As `#include "../config.h"` in the first of them is looked up, by a fresh view too.
  CHECK(Read(view, "/cccl-root-1/sub/block/../config.h") == "config");
  CHECK(Read(view, "/cccl-root-1/sub/block/sort.h") == "sort");
  CHECK(Exists(view, "/cccl-root-1/sub/block/../config.h"));
  CHECK(FileDescriptor(view.OpenDirectory("/cccl-root-1/sub/block")).valid());
  CHECK(Outside(view).empty());
}

TEST_CASE("going up out of where a symlink of the toolchain leads is outside") {
  Scene scene;
  scene.directory.Write("store/thrust/sort.h", "sort");
  scene.directory.Write("store/other.h", "other");
  fs::create_directory_symlink(scene.directory.path() + "/store/thrust", scene.trusted + "/sub");
  FileView view = scene.View(false);
  CHECK(Read(view, "/cccl-root-1/sub/sort.h") == "sort");
  CHECK(Read(view, "/cccl-root-1/sub/../other.h") == kNone);
  CHECK_FALSE(Exists(view, "/cccl-root-1/sub/.."));
  CHECK(view.outside().size() == 2);
}

TEST_CASE(
    "what lies beside a directory of the toolchain is outside, whoever asked for that before") {
  Scene scene;
  FileView view = scene.View(true);
  Exists(view, scene.trusted);
  CHECK(Read(view, "/cccl-root-1/cub/../../user/mine.h") == "mine");
  CHECK(Outside(view).find("given " + scene.user + "/mine.h") != std::string::npos);
}

TEST_CASE("the target of a symlink is outside under its own name") {
  Scene scene;
  fs::create_directory_symlink(scene.user, scene.trusted + "/sub");
  FileView view = scene.View(true);
  CHECK(Read(view, "/cccl-root-1/sub/mine.h") == "mine");
  CHECK(Outside(view).empty());
  CHECK(Read(view, "/cccl-root-0/mine.h") == "mine");
  CHECK(Outside(view) == "given " + scene.user + "/mine.h");
}

TEST_CASE("what Python left in the toolchain is outside: it is not part of its identity") {
  Scene scene;
  scene.directory.Write("trusted/__pycache__/top.h", "cached");
  FileView view = scene.View(false);
  CHECK(Read(view, "/cccl-root-1/__pycache__/top.h") == kNone);
  CHECK_FALSE(Exists(view, "/cccl-root-1/__pycache__/top.h"));
  CHECK(view.outside().size() == 1);
}

TEST_CASE("a symlink in the toolchain gives nothing of the kernel's") {
  Scene scene;
  fs::create_symlink("/proc/self/status", scene.trusted + "/status.h");
  FileView view = scene.View(true);
  CHECK(Read(view, "/cccl-root-1/status.h") == kNone);
}

TEST_CASE("a symlink inside the toolchain stays inside") {
  Scene scene;
  fs::create_symlink("top.h", scene.trusted + "/link.h");
  fs::create_directory_symlink("cub", scene.trusted + "/sub");
  FileView view = scene.View(false);
  CHECK(Read(view, "/cccl-root-1/link.h") == "top");
  CHECK(Read(view, "/cccl-root-1/sub/cub.cuh") == "cub");
  struct stat status;
  REQUIRE(view.Stat("/cccl-root-1/link.h", &status) == 0);
  CHECK(S_ISREG(status.st_mode));
  CHECK(Outside(view).empty());
}

TEST_CASE("a symlink from outside into the toolchain is outside: it may lead elsewhere tomorrow") {
  Scene scene;
  fs::create_symlink(scene.trusted + "/top.h", scene.user + "/link.h");
  FileView view = scene.View(true);
  CHECK(Read(view, "/cccl-root-0/link.h") == "top");
  CHECK(Outside(view) == "given " + scene.trusted + "/top.h");
}

TEST_CASE("only regular files are given, and never those of the kernel") {
  Scene scene;
  REQUIRE(mkfifo((scene.user + "/fifo.h").c_str(), 0600) == 0);
  fs::create_symlink("/proc/self/status", scene.user + "/status.h");
  FileView view = scene.View(true);
  for (const char* name : {"/cccl-root-0/fifo.h", "/cccl-root-0/status.h", "/proc/self/maps",
                           "/dev/null", "/sys/kernel/uevent_seqnum", "/x/../proc/self/maps"}) {
    INFO(name);
    CHECK(Read(view, name) == kNone);
    CHECK_FALSE(Exists(view, name));
  }
  for (const OutsideFile& file : view.outside()) CHECK(file.answer == Answer::kDenied);
}

TEST_CASE("visible directories are there with a made-up inode and a constant time") {
  Scene scene;
  FileView view = scene.View(false);
  struct stat status;
  REQUIRE(view.Stat("/cccl-root-0", &status) == 0);
  CHECK(S_ISDIR(status.st_mode));
  CHECK(status.st_mtim.tv_sec == 1);
  REQUIRE(view.Stat(".", &status) == 0);
  CHECK(S_ISDIR(status.st_mode));
  CHECK(Outside(view).empty());
}

TEST_CASE("nothing is written, and what can't be written does not exist") {
  Scene scene;
  FileView view = scene.View(true);
  CHECK(view.Open("/cccl-root-0/mine.h", O_WRONLY | O_TRUNC) == -ENOENT);
  CHECK(view.Open("/cccl-root-0/new.h", O_RDWR | O_CREAT) == -ENOENT);
  CHECK(view.Open("/cccl-root-1/top.h", O_RDWR) == -ENOENT);
  CHECK_FALSE(fs::exists(scene.user + "/new.h"));
  CHECK(fs::file_size(scene.user + "/mine.h") == 4);
  CHECK(view.Remove("/cccl-root-0/mine.h") == -EACCES);
  CHECK(fs::exists(scene.user + "/mine.h"));
}

TEST_CASE("scratch files live in memory, and whoever opens one is at its start") {
  Scene scene;
  FileView view = scene.View(false);
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
  CHECK(Outside(view).empty());
}

TEST_CASE("listings are given of the toolchain's directories only") {
  Scene scene;
  FileView view = scene.View(true);
  const FileDescriptor root(view.OpenDirectory("/cccl-root-1"));
  CHECK(root.valid());
  const FileDescriptor sub(view.OpenDirectory("/cccl-root-1/cub"));
  CHECK(sub.valid());
  CHECK(view.OpenDirectory("/cccl-root-0") == -ENOENT);
  CHECK(Outside(view) == "denied " + scene.user);
}

TEST_CASE("the visible path of a name has no dots") {
  Scene scene;
  const FileView view = scene.View(false);
  CHECK(view.VisiblePath("a/../b.h") == "/cccl-cwd/b.h");
  CHECK(view.VisiblePath("/cccl-root-1/./cub/") == "/cccl-root-1/cub");
  CHECK(view.working_directory() == "/cccl-cwd");
}

TEST_CASE("the record of names is bounded") {
  Scene scene;
  FileView view = scene.View(true);
  for (int i = 0; i < 1000; ++i) CHECK_FALSE(Exists(view, "none" + std::to_string(i)));
  CHECK(view.outside().size() == kMaxOutsideFiles);
  CHECK(Exists(view, "mine.h"));
  CHECK(Outside(view).find("given " + scene.user + "/mine.h") != std::string::npos);
  CHECK(view.outside().size() == kMaxOutsideFiles);
}
