// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/files.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <climits>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "tests/support/temporary_directory.h"

namespace files_test {

using namespace cccl_cache::cli;
using cccl_cache::cli::OutputFile;

TEST_CASE("a file is read whole, whatever its bytes and its size") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  CHECK(*ReadFile(directory.Write("empty", "")) == "");
  const std::string bytes("a\0b\n", 4);
  CHECK(*ReadFile(directory.Write("bytes", bytes)) == bytes);
  const std::string large(200'000, 'x');
  CHECK(*ReadFile(directory.Write("large", large)) == large);
}

TEST_CASE("a pipe, which has no size, is read to its end") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  const std::string path = directory / "pipe";
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  const std::string large(150'000, 'y');
  std::thread writer([&] {
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    size_t done = 0;
    while (done < large.size()) {
      const ssize_t size = write(fd, large.data() + done, large.size() - done);
      if (size <= 0) break;
      done += static_cast<size_t>(size);
    }
    close(fd);
  });
  const auto contents = ReadFile(path);
  writer.join();
  REQUIRE(contents.ok());
  CHECK(*contents == large);
}

TEST_CASE("the error about an unreadable file has its name and the reason") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  const std::string absent = directory / "absent";
  CHECK(ReadFile(absent).error().message == "can't read " + absent + ": No such file or directory");
  CHECK(ReadFile(directory.path()).error().message ==
        "can't read " + directory.path() + ": Is a directory");
}

TEST_CASE("a written file replaces the old one, and a full device is an error with its name") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  const std::string path = directory.Write("out", "something longer");
  REQUIRE(WriteFile(path, "new").ok());
  CHECK(*ReadFile(path) == "new");
  CHECK(WriteFile("/dev/full", "x").error().message ==
        "can't write /dev/full: No space left on device");
  CHECK_FALSE(WriteFile(directory / "no/such/place", "x").ok());
}

TEST_CASE("a result is named after the last path component, without its last extension") {
  CHECK(WithExtension("dir.d/kernel.cu", "cubin") == "kernel.cubin");
  CHECK(WithExtension("a.b.cu", "ptx") == "a.b.ptx");
  CHECK(WithExtension("kernel", "ptx") == "kernel.ptx");
  CHECK(WithExtension(".hidden", "ptx") == ".hidden.ptx");
}

TEST_CASE("an extension is that of the last path component") {
  CHECK(ExtensionOf("a/b.ltoir") == "ltoir");
  CHECK(ExtensionOf("a.ptx/b") == "");
  CHECK(ExtensionOf(".ptx") == "");
  CHECK(ExtensionOf("a.") == "");
}

TEST_CASE("the working directory is absolute") {
  CHECK(WorkingDirectory() == std::filesystem::current_path());
}

using Until = OutputFile::Until;

namespace {

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void Write(const OutputFile& file, const std::string& text) {
  REQUIRE(write(file.fd(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

ptrdiff_t FilesIn(const std::string& directory) {
  const std::filesystem::directory_iterator files(directory);
  return std::distance(files, {});
}

}  // namespace

TEST_CASE("readers see the old file until the new one is finished") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  const std::string path = directory.Write("out", "old");
  for (const Until until : {Until::kInPlace, Until::kOnDisk}) {
    auto file = OutputFile::Create(path);
    REQUIRE(file.ok());
    const std::string before = Contents(path);
    Write(*file, before + "+");
    CHECK(Contents(path) == before);
    REQUIRE(file->Finish(until).ok());
    CHECK(Contents(path) == before + "+");
  }
  CHECK(FilesIn(directory.path()) == 1);
}

TEST_CASE("an unfinished file leaves nothing behind, also after a move") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  const std::string path = directory / "out";
  {
    auto file = OutputFile::Create(path);
    REQUIRE(file.ok());
    const OutputFile moved(*std::move(file));
    Write(moved, "half");
    CHECK(FilesIn(directory.path()) == 1);
  }
  CHECK(FilesIn(directory.path()) == 0);
}

TEST_CASE("a new file has the mode that the umask allows") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  const std::string path = directory / "out";
  const mode_t before = umask(027);
  auto file = OutputFile::Create(path);
  REQUIRE(file.ok());
  REQUIRE(file->Finish(Until::kInPlace).ok());
  umask(before);
  CHECK(std::filesystem::status(path).permissions() == std::filesystem::perms(0640));
}

TEST_CASE("a link stays, and its target is replaced") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  const std::string target = directory.Write("there/target", "old");
  const std::string link = directory / "link";
  std::filesystem::create_symlink("there/target", link);
  auto file = OutputFile::Create(link);
  REQUIRE(file.ok());
  Write(*file, "new");
  REQUIRE(file->Finish(Until::kInPlace).ok());
  CHECK(std::filesystem::is_symlink(link));
  CHECK(Contents(target) == "new");
}

TEST_CASE("a dangling link stays, and its target is created") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  const std::string link = directory / "link";
  std::filesystem::create_symlink("second", link);
  std::filesystem::create_symlink(directory / "target", directory / "second");
  REQUIRE(WriteFile(link, "new").ok());
  CHECK(std::filesystem::is_symlink(link));
  CHECK(Contents(directory / "target") == "new");
  std::filesystem::create_symlink("loop", directory / "loop");
  CHECK(WriteFile(directory / "loop", "new").error().message ==
        "can't create " + (directory / "loop") + ": Too many levels of symbolic links");
}

TEST_CASE("a name may have the system's maximum length") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  const std::string path = directory / std::string(NAME_MAX, 'n');
  REQUIRE(WriteFile(path, "new").ok());
  CHECK(Contents(path) == "new");
}

TEST_CASE("a writable file in a read-only directory is overwritten when it is finished") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  const std::string path = directory.Write("out", "something longer");
  constexpr uid_t kOther = 65534;
  const bool is_root = geteuid() == 0;
  if (is_root) REQUIRE(chown(path.c_str(), kOther, kOther) == 0);
  REQUIRE(chmod(directory.path().c_str(), 0555) == 0);
  if (is_root) REQUIRE(seteuid(kOther) == 0);
  const auto file_of_another = OutputFile::Create(directory / "absent");
  auto file = OutputFile::Create(path);
  std::string before;
  bool finished = false;
  if (file.ok()) {
    Write(*file, "new");
    before = Contents(path);
    finished = file->Finish(Until::kOnDisk, 0640).ok();
  }
  if (is_root) REQUIRE(seteuid(0) == 0);
  REQUIRE(chmod(directory.path().c_str(), 0700) == 0);
  CHECK_FALSE(file_of_another.ok());
  CHECK(before == "something longer");
  CHECK(finished);
  CHECK(Contents(path) == "new");
  CHECK(std::filesystem::status(path).permissions() == std::filesystem::perms(0640));
  CHECK(FilesIn(directory.path()) == 1);
}

namespace {

/// The result of overwriting a file on a separate file system, in a directory that its owner may
/// not write.
struct Overwritten {
  bool begun = false;
  std::string error;
  std::string contents;
  std::filesystem::perms mode{};
};

Overwritten OverwriteOn(const char* type, const char* options, const std::string& contents) {
  const cccl_cache::daemon::TemporaryDirectory directory;
  Overwritten result;
  bool mounted = false;
  // The thread has a private mount namespace, which ends with the thread.
  std::thread([&] {
    constexpr uid_t kOther = 65534;
    const std::string path = directory / "out";
    mounted = unshare(CLONE_NEWNS) == 0 &&
              mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
              mount("none", directory.path().c_str(), type, 0, options) == 0;
    if (!mounted) return;
    std::ofstream(path) << "something longer";
    mounted = chown(path.c_str(), kOther, kOther) == 0 && chmod(path.c_str(), 0600) == 0 &&
              chmod(directory.path().c_str(), 0555) == 0;
    setfsuid(kOther);
    auto file = OutputFile::Create(path);
    result.begun = file.ok() && write(file->fd(), contents.data(), contents.size()) ==
                                    static_cast<ssize_t>(contents.size());
    if (result.begun) {
      const auto finished = file->Finish(Until::kInPlace, 0640);
      const std::string error = finished.ok() ? "" : finished.error().message;
      result.error = error.substr(std::min(error.size(), error.rfind(':')));
    }
    setfsuid(0);
    result.contents = Contents(path);
    result.mode = std::filesystem::status(path).permissions();
  }).join();
  if (!mounted) FAIL("this root may not mount: a container needs CAP_SYS_ADMIN");
  return result;
}

}  // namespace

TEST_CASE("a file is overwritten even if the file system can't reserve space", "[root]") {
  const Overwritten file = OverwriteOn("ramfs", nullptr, "new");
  CHECK(file.begun);
  CHECK(file.error == "");
  CHECK(file.contents == "new");
  CHECK(file.mode == std::filesystem::perms(0640));
}

TEST_CASE("a file keeps its contents and its mode if the new contents do not fit", "[root]") {
  const Overwritten file = OverwriteOn("tmpfs", "size=64k", std::string(1'000'000, 'n'));
  CHECK(file.begun);
  CHECK(file.error == ": No space left on device");
  CHECK(file.contents == "something longer");
  CHECK(file.mode == std::filesystem::perms(0600));
}

TEST_CASE("a link to /dev/fd/N writes to that open file, even to a pipe") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  std::array<int, 2> ends{};
  REQUIRE(pipe2(ends.data(), O_CLOEXEC) == 0);
  std::filesystem::create_symlink("/dev/fd/" + std::to_string(ends[1]), directory / "link");
  REQUIRE(WriteFile(directory / "link", "new").ok());
  std::array<char, 8> bytes{};
  CHECK(read(ends[0], bytes.data(), bytes.size()) == 3);
  for (const int end : ends) close(end);
}

TEST_CASE("another user's link, pipe or socket is replaced, the directory owner's link followed",
          "[root]") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  const std::string precious = directory.Write("precious", "old");
  const std::string shared = directory / "shared";
  const std::string link = shared + "/link";
  const std::string pipe = shared + "/pipe";
  constexpr uid_t kStranger = 4001;
  std::filesystem::create_directory(shared);
  REQUIRE(chmod(shared.c_str(), 01777) == 0);
  std::filesystem::create_symlink(precious, link);
  REQUIRE(mkfifo(pipe.c_str(), 0666) == 0);
  const std::string socket = shared + "/socket";
  REQUIRE(mknod(socket.c_str(), S_IFSOCK | 0666, 0) == 0);
  for (const std::string& trap : {link, pipe, socket}) {
    REQUIRE(lchown(trap.c_str(), kStranger, kStranger) == 0);
    REQUIRE(WriteFile(trap, "new").ok());
    CHECK(std::filesystem::symlink_status(trap).type() == std::filesystem::file_type::regular);
    CHECK(Contents(trap) == "new");
  }
  CHECK(Contents(precious) == "old");
  std::filesystem::remove(link);
  std::filesystem::create_symlink(precious, link);
  REQUIRE(lchown(link.c_str(), kStranger, kStranger) == 0);
  REQUIRE(lchown(shared.c_str(), kStranger, kStranger) == 0);
  REQUIRE(WriteFile(link, "new").ok());
  CHECK(Contents(precious) == "new");
}

TEST_CASE("devices and standard output are written in place") {
  auto device = OutputFile::Create("/dev/null");
  REQUIRE(device.ok());
  Write(*device, "away");
  CHECK(device->Finish(Until::kOnDisk).ok());
  CHECK(std::filesystem::is_character_file("/dev/null"));
  auto output = OutputFile::Create("-");
  REQUIRE(output.ok());
  CHECK(output->fd() == STDOUT_FILENO);
  CHECK(output->Finish(Until::kOnDisk).ok());
}

TEST_CASE("the error about a file that can't be created names the file") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  const std::string inside = directory / "absent/out";
  const auto file = OutputFile::Create(inside);
  REQUIRE_FALSE(file.ok());
  CHECK(file.error().message == "can't create " + inside + ": No such file or directory");
  const auto taken = OutputFile::Create(directory.path());
  REQUIRE_FALSE(taken.ok());
  CHECK(taken.error().message == "can't create " + directory.path() + ": Is a directory");
}

TEST_CASE("a directory that was made at the file's path meanwhile is an error") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  const std::string path = directory / "out";
  auto file = OutputFile::Create(path);
  REQUIRE(file.ok());
  std::filesystem::create_directory(path);
  const auto finished = file->Finish(Until::kInPlace);
  REQUIRE_FALSE(finished.ok());
  CHECK(finished.error().message == "can't create " + path + ": Is a directory");
}

}  // namespace files_test
