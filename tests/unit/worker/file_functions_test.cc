// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/file_functions.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "tests/support/temporary_directory.h"
#include "tests/unit/worker/answering_daemon.h"

namespace file_functions_test {

using namespace cccl_cache::daemon;
using cccl_cache::FileDescriptor;

namespace {

/// Makes a job's file view current until it is destroyed. The functions under test replace the C
/// library's functions of the same names.
class JobInProgress {
 public:
  explicit JobInProgress(const TemporaryDirectory& directory) : target_(directory.path()) {
    job_.visible_working_directory = "/cccl-cwd";
    job_.mounts = {{"/cccl-root-1", target_}};
    view_ = std::make_unique<FileView>(job_, std::vector<std::string>{}, FileView::Others{});
    UseFileView(view_.get());
  }
  ~JobInProgress() { UseFileView(nullptr); }

 private:
  std::string target_;
  WorkerJob job_;
  std::unique_ptr<FileView> view_;
};

std::string ReadStream(const char* name) {
  FILE* stream = fopen(name, "r");
  if (stream == nullptr) return "-" + std::to_string(errno);
  char text[64];
  const size_t length = fread(text, 1, sizeof(text), stream);
  fclose(stream);
  return {text, length};
}

int EntriesOf(const char* name) {
  DIR* directory = opendir(name);
  if (directory == nullptr) return -1;
  int entries = 0;
  while (readdir(directory) != nullptr) ++entries;
  closedir(directory);
  return entries;
}

}  // namespace

TEST_CASE("in a job the C library's file functions use its view") {
  const TemporaryDirectory directory;
  directory.Write("a.h", "text");
  const JobInProgress job(directory);
  struct stat status;
  char buffer[4096];
  CHECK(ReadStream("/cccl-root-1/a.h") == "text");
  CHECK(ReadStream("/etc/passwd") == "-" + std::to_string(ENOENT));
  CHECK(stat("/cccl-root-1/a.h", &status) == 0);
  CHECK(stat("/etc/passwd", &status) == -1);
  CHECK(open("/etc/passwd", O_RDONLY) == -1);
  CHECK(openat(AT_FDCWD, "/etc/passwd", O_RDONLY) == -1);
  CHECK(access("/cccl-root-1/a.h", R_OK) == 0);
  CHECK(access("/cccl-root-1/a.h", W_OK) == -1);
  CHECK(access("/etc/passwd", F_OK) == -1);
  CHECK(readlink("/proc/self/exe", buffer, sizeof(buffer)) == -1);
  CHECK(std::string(getcwd(buffer, sizeof(buffer))) == "/cccl-cwd");
  CHECK(std::string(realpath("/cccl-root-1/./a.h", buffer)) == "/cccl-root-1/a.h");
  CHECK(realpath("/etc/passwd", buffer) == nullptr);
}

TEST_CASE("in a job files from the daemon can be opened, read and listed") {
  const AnsweringDaemon daemon(
      {{"/opt/a.h", {FileKind::kFile, 7, "text"}}, {"/opt", {FileKind::kDirectory, 8, ""}}});
  FileClient client(daemon.socket());
  WorkerJob job;
  job.visible_working_directory = "/cccl-cwd";
  FileView view(job, {}, {.asked = &client});
  UseFileView(&view);
  CHECK(ReadStream("/opt/a.h") == "text");
  CHECK(ReadStream("/opt/b.h") == "-" + std::to_string(ENOENT));
  CHECK(ReadStream("/opt").empty());
  CHECK(EntriesOf("/opt") == 0);
  char text[8] = {};
  const FileDescriptor file(open("/opt/a.h", O_RDONLY));
  CHECK(read(file.get(), text, sizeof(text)) == 4);
  CHECK(access("/opt/a.h", R_OK) == 0);
  UseFileView(nullptr);
}

TEST_CASE("in a job no directory can be made, removed or entered") {
  const TemporaryDirectory directory;
  const JobInProgress job(directory);
  const std::string made = directory.path() + "/made";
  CHECK(mkdir(made.c_str(), 0700) == -1);
  CHECK(chdir(directory.path().c_str()) == -1);
  CHECK(rmdir(directory.path().c_str()) == -1);
}

TEST_CASE("in a job a refused directory is listed as empty, because NVRTC can't handle null") {
  const TemporaryDirectory directory;
  directory.Write("a.h", "text");
  const JobInProgress job(directory);
  CHECK(EntriesOf("/etc") == 0);
  CHECK(EntriesOf("/cccl-root-1") == 3);
}

TEST_CASE("getcwd fails with a buffer that is too small") {
  const TemporaryDirectory directory;
  const JobInProgress job(directory);
  char small[4];
  errno = 0;
  CHECK(getcwd(small, sizeof(small)) == nullptr);
  CHECK(errno == ERANGE);
  char* allocated = getcwd(nullptr, 0);
  CHECK(std::string(allocated) == "/cccl-cwd");
  free(allocated);
}

TEST_CASE("outside a job the file functions call the kernel") {
  const TemporaryDirectory directory;
  const std::string file = directory.Write("a.h", "text");
  struct stat status;
  char buffer[4096];
  CHECK(ReadStream(file.c_str()) == "text");
  CHECK(stat(file.c_str(), &status) == 0);
  CHECK(status.st_size == 4);
  CHECK(std::string(realpath((directory.path() + "/./a.h").c_str(), buffer)) == file);
  CHECK(EntriesOf(directory.path().c_str()) == 3);
  CHECK(ReadStream("/nonexistent") == "-" + std::to_string(ENOENT));
  FILE* created = fopen((directory.path() + "/new").c_str(), "w");
  REQUIRE(created != nullptr);
  fputs("new", created);
  fclose(created);
  CHECK(ReadStream((directory.path() + "/new").c_str()) == "new");
  CHECK(unlink((directory.path() + "/new").c_str()) == 0);
}

TEST_CASE("a compiler can open only libraries that are loaded already") {
  void* loaded = dlopen("libc.so.6", RTLD_NOW);
  CHECK(loaded != nullptr);
  CHECK(dlopen("libcrypt.so.1", RTLD_NOW) == nullptr);
}

}  // namespace file_functions_test
