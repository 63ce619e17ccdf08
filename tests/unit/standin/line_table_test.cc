// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/standin/line_table.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <string>

#include "tests/support/line_tables.h"
#include "tests/support/temporary_directory.h"

namespace cccl_cache::standin::line_table_test {
namespace {

using line_tables::Cubin;
using line_tables::Table;

const std::string kOld("\x80\x80\x80\x80\x01", 5);  // 2^28
const std::string kNew("\x80\xe2\xcf\xaa\x06", 5);  // 1700000000
const std::string kOldSize("\x05", 1);
const std::string kZeros("\0\0", 2);

/// A directory with a source of 9 bytes, written at 1700000000.
struct Scene {
  daemon::TemporaryDirectory directory;
  std::string source = directory.Write("k.cu", "123456789");
  std::string place = source.substr(0, source.rfind('/'));

  Scene() {
    const timespec times[2] = {{1'700'000'000, 5}, {1'700'000'000, 5}};
    REQUIRE(utimensat(AT_FDCWD, source.c_str(), times, 0) == 0);
  }
};

std::string File(const std::string& name, int directory, const std::string& numbers) {
  return name + std::string("\0", 1) + static_cast<char>(directory) + numbers;
}

/// Returns the cubin after SetTimes(), or "" if that failed.
std::string Set(std::string cubin) { return SetTimes(&cubin) ? cubin : ""; }

TEST_CASE("a line table gets the present times and sizes of its files") {
  const Scene scene;
  for (const uint16_t version : {2, 3, 4}) {
    const auto cubin = [&](const std::string& numbers) {
      return Cubin(Table("/nowhere", File(scene.source, 0, numbers), version) +
                   Table(scene.place, File("k.cu", 1, numbers), version));
    };
    CHECK(Set(cubin(kOld + kOldSize)) == cubin(kNew + "\x09"));
    CHECK(Set(cubin(kNew + "\x09")) == cubin(kNew + "\x09"));
  }
}

TEST_CASE("a line table without times and sizes remains as it is") {
  const Scene scene;
  const std::string cubin =
      Cubin(Table(scene.place, File("k.cu", 1, kZeros) + File("x", 1, kZeros)));
  CHECK(Set(cubin) == cubin);
  CHECK(Set(Cubin("")) == Cubin(""));
}

TEST_CASE("missing files without times are named") {
  const Scene scene;
  std::string cubin = Cubin(Table(scene.place, File("k.cu", 1, kZeros) + File("x", 1, kZeros)));
  CHECK(SetTimes(&cubin) == std::vector{scene.place + "/x"});
}

TEST_CASE("numbers of another length can't be written") {
  const Scene scene;
  CHECK(Set(Cubin(Table(scene.place, File("k.cu", 1, "\x05\x05")))).empty());
  CHECK(Set(Cubin(Table(scene.place, File("gone.cu", 1, kOld + kOldSize)))).empty());
}

TEST_CASE("a time of more than 32 bits can't be written") {
  const Scene scene;
  const timespec times[2] = {{int64_t{1} << 33, 0}, {int64_t{1} << 33, 0}};
  REQUIRE(utimensat(AT_FDCWD, scene.source.c_str(), times, 0) == 0);
  CHECK(Set(Cubin(Table(scene.place, File("k.cu", 1, kOld + kOldSize)))).empty());
}

TEST_CASE("an empty file of 1970 does not show whether times are written") {
  const Scene scene;
  const std::string empty = scene.directory.Write("empty", "");
  const timespec times[2] = {};
  REQUIRE(utimensat(AT_FDCWD, empty.c_str(), times, 0) == 0);
  CHECK(Set(Cubin(Table(scene.place, File("empty", 1, kZeros)))).empty());
}

TEST_CASE("a file that is no cubin, or that is damaged, is refused") {
  const Scene scene;
  const std::string table = Table(scene.place, File("k.cu", 1, kOld + kOldSize));
  CHECK(Set("").empty());
  CHECK(Set("// PTX").empty());
  CHECK(Set(Cubin(table.substr(0, table.size() - 1))).empty());
  CHECK(Set(Cubin(Table(scene.place, File("k.cu", 2, kOld + kOldSize)))).empty());
  CHECK(Set(Cubin(Table(scene.place, File("k.cu", 1, kOld + kOldSize), 5))).empty());
  CHECK(Set(Cubin(table, SHF_COMPRESSED)).empty());
  const std::string cubin = Cubin(table);
  for (size_t size = 0; size < cubin.size(); ++size) CHECK(Set(cubin.substr(0, size)).empty());
}

TEST_CASE("a PTX gives times itself if a .file line goes on behind the name") {
  CHECK(GivesTimes(".file 1 \"/d/k.cu\", 1700000000, 7\n"));
  CHECK(GivesTimes(".file 1 \"/d/k.cu\"\n.file\t2 \"/d/a.h\" , 1, 2"));
  CHECK_FALSE(GivesTimes(".file 1 \"/d/k.cu\"\n.file\t2 \"/d/a,1.h\" \r\nret;\n"));
  CHECK_FALSE(GivesTimes("ret;"));
}

}  // namespace
}  // namespace cccl_cache::standin::line_table_test
