// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "base/files/file_descriptor.h"
#include "daemon/worker/files/file_view.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/worker/answering_daemon.h"

namespace file_view_questions_test {

using namespace cccl_cache::daemon;
using cccl_cache::FileDescriptor;
namespace fs = std::filesystem;

namespace {

const std::string kNone = "-" + std::to_string(ENOENT);

WorkerJob JobOver(const std::string& trusted) {
  WorkerJob job;
  job.program_name = "/cccl-root-0/prog.cu";
  job.visible_working_directory = "/cccl-work";
  job.mounts = {{"/cccl-root-1", trusted}};
  return job;
}

/// A toolchain in trusted/; all other files are the daemon's.
struct Scene {
  Scene() {
    directory.Write("trusted/cub/cub.cuh", "cub");
    directory.Write("user/mine.h", "what the disk says");
  }

  std::string Read(std::string_view name) {
    const int opened = view.Open(name, O_RDONLY);
    if (opened < 0) return "-" + std::to_string(-opened);
    const FileDescriptor file(opened);
    char text[64];
    const ssize_t length = read(file.get(), text, sizeof(text));
    return {text, length > 0 ? static_cast<size_t>(length) : 0};
  }
  struct stat Status(std::string_view name) {
    struct stat status {};
    INFO(name);
    CHECK(view.Stat(name, &status) == 0);
    return status;
  }
  bool Exists(std::string_view name) {
    struct stat status;
    return view.Stat(name, &status) == 0;
  }
  [[nodiscard]] std::vector<std::string> asked() const { return daemon.asked(); }

  TemporaryDirectory directory;
  std::string trusted = directory.path() + "/trusted";
  std::string user = directory.path() + "/user";
  AnsweringDaemon daemon{{{"/cccl-root-0", {FileKind::kDirectory, 20}},
                          {"/cccl-root-0/mine.h", {FileKind::kFile, 21, "mine"}},
                          {"/cccl-root-0/same.h", {FileKind::kFile, 21, "mine"}},
                          {"/cccl-root-0/prog.cu", {FileKind::kFile, 24, "program"}},
                          {"/cccl-root-1/../up.h", {FileKind::kFile, 22, "up"}},
                          {"/opt/x.h", {FileKind::kFile, 23, "x"}}}};
  FileClient client{daemon.socket()};
  FileView view{JobOver(trusted), {trusted}, {.asked = &client}};
};

}  // namespace

TEST_CASE("files outside the toolchain come from the daemon, never from the disk") {
  Scene scene;
  CHECK(scene.Read("/cccl-root-0/mine.h") == "mine");
  CHECK(scene.Read("/cccl-root-0/none.h") == kNone);
  CHECK(scene.Read("/opt/x.h") == "x");
  CHECK(scene.Read(scene.user + "/mine.h") == kNone);
  CHECK(scene.Read("mine.h") == kNone);
  CHECK(scene.asked() == std::vector<std::string>{"/cccl-root-0/mine.h", "/cccl-root-0/none.h",
                                                  "/opt/x.h", scene.user + "/mine.h",
                                                  "/cccl-work/mine.h"});
}

TEST_CASE("a name that leaves the toolchain is asked for with its \"..\"") {
  Scene scene;
  CHECK(scene.Read("/cccl-root-1/./../up.h") == "up");
  const std::string detour = "/cccl-root-1/../user/../trusted/cub/cub.cuh";
  CHECK(scene.Read(detour) == kNone);
  const std::string into = "/cccl-root-0/../trusted/cub/cub.cuh";
  CHECK(scene.Read(into) == kNone);
  fs::create_directories(scene.directory.path() + "/store/deep");
  fs::create_directory_symlink(scene.directory.path() + "/store/deep", scene.trusted + "/link");
  const std::string by_link = "/cccl-root-1/link/../up.h";
  CHECK(scene.Read(by_link) == kNone);
  CHECK(scene.asked() == std::vector<std::string>{"/cccl-root-1/../up.h", detour, into, by_link});
}

TEST_CASE("a missing include directory is absent") {
  Scene scene;
  CHECK(S_ISDIR(scene.Status("/cccl-root-0").st_mode));
  CHECK_FALSE(scene.Exists("/cccl-root-2"));
}

TEST_CASE("the working directory exists even if the requester's is missing") {
  Scene scene;
  CHECK(S_ISDIR(scene.Status(".").st_mode));
  CHECK(S_ISDIR(scene.Status("/cccl-work").st_mode));
}

TEST_CASE("stat shows only kind, size and identity") {
  Scene scene;
  const struct stat mine = scene.Status("/cccl-root-0/mine.h");
  CHECK(S_ISREG(mine.st_mode));
  CHECK(mine.st_size == 4);
  CHECK(mine.st_ino == 21);
  CHECK(mine.st_mtim.tv_sec == 1);
  const struct stat same = scene.Status("/cccl-root-0/same.h");
  CHECK(same.st_ino == mine.st_ino);
  CHECK(same.st_dev == mine.st_dev);
  CHECK(scene.Status("/opt/x.h").st_ino != mine.st_ino);
}

TEST_CASE("a name that the compiler made up is not asked for until it is opened") {
  Scene scene;
  CHECK_FALSE(scene.Exists("/cccl-root-0/prog.cu"));
  CHECK_FALSE(scene.Exists("__nv_name_map"));
  CHECK(scene.asked().empty());
  CHECK(scene.Read("/cccl-root-0/prog.cu") == "program");
  CHECK(scene.Status("/cccl-root-0/prog.cu").st_ino == 24);
  CHECK(scene.Read("./__nv_name_map") == kNone);
  CHECK(scene.asked() ==
        std::vector<std::string>{"/cccl-root-0/prog.cu", "/cccl-work/__nv_name_map"});
}

TEST_CASE("a descriptor of a file outside the toolchain can't be written to") {
  Scene scene;
  const FileDescriptor file(scene.view.Open("/cccl-root-0/mine.h", O_RDONLY));
  REQUIRE(file.valid());
  CHECK(write(file.get(), "x", 1) < 0);
  CHECK(scene.view.Open("/cccl-root-0/mine.h", O_RDWR) == -ENOENT);
  CHECK(scene.view.Open("/cccl-root-0", O_RDONLY) == -EISDIR);
}

}  // namespace file_view_questions_test
