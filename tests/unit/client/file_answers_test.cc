// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/file_answers.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/root.h"
#include "tests/support/temporary_directory.h"

namespace file_answers_test {

using cccl_cache::LookAtOwnFile;
using cccl_cache::OwnFile;
using cccl_cache::Sha256;

namespace {

using cccl_cache::daemon::TemporaryDirectory;

constexpr uid_t kStranger = 4242;

void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

TEST_CASE("a regular file is answered by its digest, or sent") {
  const TemporaryDirectory directory;
  const std::string path = directory / "a.h";
  Write(path, "text");
  const OwnFile looked = LookAtOwnFile(path, false);
  CHECK(looked.kind == OwnFile::Kind::kRegular);
  CHECK(looked.digest == Sha256("text"));
  const OwnFile read = LookAtOwnFile(path, true);
  CHECK(read.contents == "text");
  struct stat status {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  CHECK(read.inode == status.st_ino);
  CHECK(read.device != 0);
  Write(path, "");
  CHECK(LookAtOwnFile(path, false).digest == Sha256(""));
  CHECK(LookAtOwnFile(path, true).kind == OwnFile::Kind::kRegular);
}

TEST_CASE("symlinks are followed, and hard links have the same inode") {
  const TemporaryDirectory directory;
  const std::string path = directory / "a.h";
  Write(path, "text");
  std::filesystem::create_symlink("a.h", directory / "symlink");
  std::filesystem::create_hard_link(path, directory / "link");
  Write(directory / "copy", "text");
  const OwnFile file = LookAtOwnFile(path, false);
  CHECK(LookAtOwnFile(directory / "symlink", false).inode == file.inode);
  CHECK(LookAtOwnFile(directory / "link", false).inode == file.inode);
  CHECK(LookAtOwnFile(directory / "copy", false).inode != file.inode);
}

TEST_CASE("a missing file is absent") {
  const TemporaryDirectory directory;
  Write(directory / "a.h", "text");
  std::filesystem::create_symlink("nowhere", directory / "dangling");
  std::filesystem::create_symlink("loop", directory / "loop");
  for (const std::string& name :
       {std::string("b.h"), std::string("a.h/b.h"), std::string("dangling"), std::string("loop"),
        std::string(5000, 'x')}) {
    CHECK(LookAtOwnFile(directory / name, true).kind == OwnFile::Kind::kAbsent);
  }
}

TEST_CASE("a directory is answered as a directory") {
  const TemporaryDirectory directory;
  const OwnFile found = LookAtOwnFile(directory.path(), true);
  CHECK(found.kind == OwnFile::Kind::kDirectory);
  CHECK(found.inode != 0);
}

TEST_CASE("only regular files are opened") {
  const TemporaryDirectory directory;
  const std::string fifo = directory / "fifo";
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  for (const std::string& path :
       {fifo, std::string("/dev/null"), std::string("/proc/self/status")}) {
    INFO(path);
    const OwnFile found = LookAtOwnFile(path, true);
    CHECK(found.kind == OwnFile::Kind::kRefused);
    CHECK_FALSE(found.reason.empty());
    CHECK(found.contents.empty());
  }
}

TEST_CASE("a file that is too large to be sent is refused") {
  const TemporaryDirectory directory;
  const std::string path = directory / "large";
  Write(path, "");
  REQUIRE(truncate(path.c_str(), (64 << 20) + 1) == 0);
  const OwnFile found = LookAtOwnFile(path, true);
  CHECK(found.kind == OwnFile::Kind::kRefused);
  CHECK(found.reason.find("64 MiB") != std::string::npos);
}

TEST_CASE("the refusal of an unreadable file names the remedy", "[root]") {
  cccl_cache::daemon::RequireRoot();
  const TemporaryDirectory directory;  // accessible only for its owner
  Write(directory / "a.h", "text");
  REQUIRE(seteuid(kStranger) == 0);
  const OwnFile found = LookAtOwnFile(directory / "a.h", true);
  REQUIRE(seteuid(0) == 0);
  CHECK(found.kind == OwnFile::Kind::kRefused);
  CHECK(found.reason.starts_with("Permission denied: you may not read it"));
  CHECK(found.reason.find("chmod") != std::string::npos);
}

}  // namespace

}  // namespace file_answers_test
