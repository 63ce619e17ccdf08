// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/files/file_stamp.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "base/file_descriptor.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/files/file_tree.h"

namespace file_stamp_test {

using namespace cccl_cache::daemon;
using cccl_cache::FileDescriptor;

namespace {

constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kSecond = 1000 * kMillisecond;

struct statx SomeStatus() {
  struct statx status {};
  status.stx_mnt_id = 1;
  status.stx_dev_major = 2;
  status.stx_dev_minor = 3;
  status.stx_ino = 4;
  status.stx_size = 5;
  status.stx_mtime = {.tv_sec = 6, .tv_nsec = 7};
  status.stx_ctime = {.tv_sec = 8, .tv_nsec = 9};
  return status;
}

}  // namespace

TEST_CASE("a stamp changes with each thing that it is made of") {
  const auto change = GENERATE(table<const char*, void (*)(struct statx&)>({
      {"mount", [](struct statx& status) { ++status.stx_mnt_id; }},
      {"major", [](struct statx& status) { ++status.stx_dev_major; }},
      {"minor", [](struct statx& status) { ++status.stx_dev_minor; }},
      {"inode", [](struct statx& status) { ++status.stx_ino; }},
      {"size", [](struct statx& status) { ++status.stx_size; }},
      {"second of the contents", [](struct statx& status) { ++status.stx_mtime.tv_sec; }},
      {"nanosecond of the contents", [](struct statx& status) { ++status.stx_mtime.tv_nsec; }},
      {"second of the change", [](struct statx& status) { ++status.stx_ctime.tv_sec; }},
      {"nanosecond of the change", [](struct statx& status) { ++status.stx_ctime.tv_nsec; }},
  }));
  INFO(std::get<0>(change));
  struct statx other = SomeStatus();
  REQUIRE(ContentStamp::Of(other) == ContentStamp::Of(SomeStatus()));
  std::get<1>(change)(other);
  CHECK(ContentStamp::Of(other) != ContentStamp::Of(SomeStatus()));
}

TEST_CASE("a stamp does not count within two ticks of the change") {
  ContentStamp stamp;
  stamp.ctime_ns = 1000 * kSecond + 1;
  CHECK_FALSE(stamp.IsSettledAt(stamp.ctime_ns));
  CHECK_FALSE(stamp.IsSettledAt(stamp.ctime_ns + 20 * kMillisecond - 1));
  CHECK(stamp.IsSettledAt(stamp.ctime_ns + 20 * kMillisecond));
}

TEST_CASE("the stamp of a file does not count before its pages are written back") {
  ContentStamp stamp;
  stamp.ctime_ns = 1000 * kSecond + 1;
  CHECK_FALSE(stamp.IsSettledAt(stamp.ctime_ns + 40 * kSecond - 1, 40 * kSecond));
  CHECK(stamp.IsSettledAt(stamp.ctime_ns + 40 * kSecond, 40 * kSecond));
}

TEST_CASE("the time of write-back follows from the kernel's settings") {
  const TemporaryDirectory directory;
  const auto set = [&](const char* name, int centiseconds) {
    std::ofstream(directory / name) << centiseconds << "\n";
  };
  CHECK(KernelWriteBack(directory.path()) == 40 * kSecond);  // the kernel's defaults
  set("dirty_expire_centisecs", 100);
  set("dirty_writeback_centisecs", 50);
  CHECK(KernelWriteBack(directory.path()) == 2 * kSecond);
  set("dirty_writeback_centisecs", 0);
  CHECK(KernelWriteBack(directory.path()) == std::nullopt);
}

TEST_CASE("a stamp in the future does not count") {
  ContentStamp stamp;
  stamp.ctime_ns = 1000 * kSecond + 1;
  CHECK_FALSE(stamp.IsSettledAt(stamp.ctime_ns - kSecond));
}

TEST_CASE("a stamp in whole seconds counts two seconds later") {
  ContentStamp stamp;
  stamp.ctime_ns = 1000 * kSecond;
  CHECK_FALSE(stamp.IsSettledAt(stamp.ctime_ns + 2 * kSecond - 1));
  CHECK(stamp.IsSettledAt(stamp.ctime_ns + 2 * kSecond));
}

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

}  // namespace file_stamp_test
