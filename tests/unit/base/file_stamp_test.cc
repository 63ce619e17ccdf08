// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/files/file_stamp.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <fstream>
#include <set>
#include <string>

#include "base/files/file_descriptor.h"
#include "tests/support/temporary_directory.h"

namespace file_stamp_test {

using namespace cccl_cache;
using cccl_cache::daemon::TemporaryDirectory;

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

TEST_CASE("a stamp changes with each of its fields") {
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

TEST_CASE("a stamp is not trusted within two clock ticks of the change") {
  ContentStamp stamp;
  stamp.ctime_ns = 1000 * kSecond + 1;
  CHECK_FALSE(stamp.IsSettledAt(stamp.ctime_ns));
  CHECK_FALSE(stamp.IsSettledAt(stamp.ctime_ns + 20 * kMillisecond - 1));
  CHECK(stamp.IsSettledAt(stamp.ctime_ns + 20 * kMillisecond));
}

TEST_CASE("a stamp is not trusted before the file's pages are written back") {
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

TEST_CASE("a stamp in the future is not trusted") {
  ContentStamp stamp;
  stamp.ctime_ns = 1000 * kSecond + 1;
  CHECK_FALSE(stamp.IsSettledAt(stamp.ctime_ns - kSecond));
}

TEST_CASE("a stamp in whole seconds is trusted after two seconds") {
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

TEST_CASE("StatusAt returns the status of a name in a directory, or of the descriptor itself") {
  const TemporaryDirectory directory;
  directory.Write("a.h", "123");
  struct stat expected {};
  REQUIRE(stat((directory / "a.h").c_str(), &expected) == 0);
  struct statx status {};
  REQUIRE(StatusAt(OpenPath(directory.path()).get(), "a.h", &status) == 0);
  CHECK(status.stx_ino == expected.st_ino);
  CHECK(status.stx_size == 3);
  CHECK(status.stx_mnt_id != 0);
  struct statx same {};
  REQUIRE(StatusAt(OpenPath(directory / "a.h").get(), "", &same) == 0);
  CHECK(same.stx_ino == expected.st_ino);
  CHECK(DeviceOf(same) == DeviceOf(status));
  CHECK(same.stx_mnt_id == status.stx_mnt_id);
}

TEST_CASE("StatusAt does not follow a symlink") {
  const TemporaryDirectory directory;
  REQUIRE(symlink("nowhere", (directory / "link").c_str()) == 0);
  struct statx status {};
  REQUIRE(StatusAt(AT_FDCWD, directory / "link", &status) == 0);
  CHECK(S_ISLNK(status.stx_mode));
}

TEST_CASE("StatusAt returns the errno of a failure") {
  const TemporaryDirectory directory;
  directory.Write("file", "");
  struct statx status {};
  CHECK(StatusAt(AT_FDCWD, directory / "none", &status) == ENOENT);
  CHECK(StatusAt(AT_FDCWD, directory / "file/a.h", &status) == ENOTDIR);
  CHECK(StatusAt(-1, "", &status) == EBADF);
}

TEST_CASE("devices are distinguished by both halves of the number") {
  struct statx status {};
  status.stx_dev_major = 1;
  status.stx_dev_minor = 2;
  CHECK(DeviceOf(status) == 0x1'0000'0002);
  status.stx_dev_minor = 0xffffffff;
  CHECK(DeviceOf(status) == 0x1'ffff'ffff);
}

namespace {

constexpr long kExt4 = EXT4_SUPER_MAGIC;
constexpr long kSquashfs = SQUASHFS_MAGIC;
constexpr long kErofs = 0xe0f5e1e2;
constexpr long kIso = ISOFS_SUPER_MAGIC;
constexpr long kFuse = FUSE_SUPER_MAGIC;
constexpr long kNfs = NFS_SUPER_MAGIC;
constexpr long kMemory = TMPFS_MAGIC;
constexpr long kRamfs = RAMFS_MAGIC;
constexpr long kOverlay = OVERLAYFS_SUPER_MAGIC;

/// A file's status, on a file system that is mounted for reading and writing.
struct Described {
  explicit Described(long type) {
    system.f_type = static_cast<decltype(system.f_type)>(type);
    status.stx_mode = S_IFREG | 0644;
    status.stx_mask = STATX_BASIC_STATS | STATX_MNT_ID | kStatxUniqueMount;
  }
  [[nodiscard]] bool Proves() const { return StampsProve(KindOf(system, status), status); }

  struct statfs system {};
  struct statx status {};
};

/// Sets the fields as ext4, XFS and f2fs do, and an overlay over them.
void DescribeAsOnDisk(struct statx* status) {
  status->stx_mask |= kStatxDirectIo;
  status->stx_attributes_mask |= STATX_ATTR_NODUMP;
}

}  // namespace

TEST_CASE("stamps of network and memory file systems are not trusted") {
  for (const long type : {kSquashfs, kErofs, kIso, kFuse, kNfs, kMemory, kRamfs, 0x12345L}) {
    Described file(type);
    DescribeAsOnDisk(&file.status);
    CHECK_FALSE(file.Proves());
  }
  for (const long type : {kExt4, 0x58465342L, 0x9123683eL, 0xf2f52010L})
    CHECK(Described(type).Proves());
}

TEST_CASE("stamps on a read-only mount are trusted only if mount numbers are unique") {
  Described image(kExt4);
  image.system.f_flags = ST_RDONLY;
  CHECK(image.Proves());
  image.status.stx_mask &= ~kStatxUniqueMount;
  CHECK_FALSE(image.Proves());
  image.system.f_flags = 0;
  CHECK(image.Proves());
}

TEST_CASE("stamps on an overlay are trusted if its lower layer is a local disk") {
  Described disk(kOverlay);
  DescribeAsOnDisk(&disk.status);
  CHECK(disk.Proves());
  SECTION("squashfs, FUSE") { disk.status = Described(kOverlay).status; }
  SECTION("erofs") { disk.status.stx_attributes_mask = STATX_ATTR_IMMUTABLE; }
  SECTION("memory") { disk.status.stx_mask &= ~kStatxDirectIo; }
  SECTION("a mount with a reusable number") { disk.status.stx_mask &= ~kStatxUniqueMount; }
  CHECK_FALSE(disk.Proves());
}

TEST_CASE("stamps of directories are trusted in memory file systems too") {
  Described directory(kMemory);
  directory.status.stx_mode = S_IFDIR | 0755;
  CHECK(directory.Proves());
}

TEST_CASE("the text of a stamp has all fields, and the boot") {
  const StampReader reader;
  const ContentStamp stamp{1, 2, 3, 4, 5, 6};
  const std::string text = reader.TextOf(stamp);
  std::set<std::string> all = {text};
  for (const ContentStamp& other :
       {ContentStamp{0, 2, 3, 4, 5, 6}, ContentStamp{1, 0, 3, 4, 5, 6},
        ContentStamp{1, 2, 0, 4, 5, 6}, ContentStamp{1, 2, 3, 0, 5, 6},
        ContentStamp{1, 2, 3, 4, 0, 6}, ContentStamp{1, 2, 3, 4, 5, 0}}) {
    all.insert(reader.TextOf(other));
  }
  CHECK(all.size() == 7);
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id") >> std::ws, boot);
  CHECK(text.starts_with(boot + " "));
}

TEST_CASE("the stamp of a file that has just changed is not trusted") {
  const TemporaryDirectory directory;
  directory.Write("file", "young");
  const auto stamp = StampReader().At(directory / "file");
  REQUIRE(stamp);
  CHECK_FALSE(stamp->proves);
  CHECK(StampReader().Of(OpenPath(directory / "file").get())->stamp == stamp->stamp);
  CHECK_FALSE(StampReader().At(directory / "none"));
}

}  // namespace file_stamp_test
