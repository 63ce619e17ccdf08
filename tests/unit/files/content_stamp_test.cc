// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "daemon/files/file_stamp.h"
#include "tests/support/temporary_directory.h"

using namespace cccl_cache::daemon;

namespace {

constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kSecond = 1000 * kMillisecond;

struct statx Status() {
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
  struct statx other = Status();
  REQUIRE(ContentStamp::Of(other) == ContentStamp::Of(Status()));
  std::get<1>(change)(other);
  CHECK(ContentStamp::Of(other) != ContentStamp::Of(Status()));
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
