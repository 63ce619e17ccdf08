// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <catch2/catch.hpp>

#include "base/file_descriptor.h"
#include "daemon/files/file_stamp.h"
#include "tests/unit/files/file_tree.h"

using namespace cccl_cache::daemon;
using cccl_cache::FileDescriptor;

namespace {

FileDescriptor OpenPath(const std::string& path) {
  FileDescriptor file(open(path.c_str(), O_PATH | O_CLOEXEC));
  REQUIRE(file.valid());
  return file;
}

}  // namespace

TEST_CASE("the status is that of a name in a directory, or of the descriptor itself") {
  FileTree tree;
  tree.Write("include/a.h", "123");
  const struct stat expected = tree.Status("include/a.h");
  struct statx status {};
  REQUIRE(StatusAt(OpenPath(tree.Path("include")).get(), "a.h", &status) == 0);
  CHECK(status.stx_ino == expected.st_ino);
  CHECK(status.stx_size == 3);
  CHECK(status.stx_mnt_id != 0);
  struct statx same {};
  REQUIRE(StatusAt(OpenPath(tree.Path("include/a.h")).get(), "", &same) == 0);
  CHECK(same.stx_ino == expected.st_ino);
  CHECK(DeviceOf(same) == DeviceOf(status));
  CHECK(same.stx_mnt_id == status.stx_mnt_id);
}

TEST_CASE("a symlink has a status of its own") {
  FileTree tree;
  tree.Link("link", "nowhere");
  struct statx status {};
  REQUIRE(StatusAt(AT_FDCWD, tree.Path("link"), &status) == 0);
  CHECK(S_ISLNK(status.stx_mode));
}

TEST_CASE("why there is no status is told by number") {
  FileTree tree;
  tree.Write("file", "");
  struct statx status {};
  CHECK(StatusAt(AT_FDCWD, tree.Path("none"), &status) == ENOENT);
  CHECK(StatusAt(AT_FDCWD, tree.Path("file/a.h"), &status) == ENOTDIR);
  CHECK(StatusAt(-1, "", &status) == EBADF);
}

TEST_CASE("devices that differ in either half of the number are two") {
  struct statx status {};
  status.stx_dev_major = 1;
  status.stx_dev_minor = 2;
  CHECK(DeviceOf(status) == 0x1'0000'0002);
  status.stx_dev_minor = 0xffffffff;
  CHECK(DeviceOf(status) == 0x1'ffff'ffff);
}
