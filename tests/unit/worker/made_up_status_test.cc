// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cstring>

#include "daemon/worker/files/file_view.h"

namespace cccl_cache::daemon::made_up_status::made_up_status_test {
namespace {

bool SameFile(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

TEST_CASE("a made-up status is constant, and discloses nothing about the machine") {
  const struct stat one = File(5, 100);
  const struct stat two = File(5, 100);
  CHECK(std::memcmp(&one, &two, sizeof(one)) == 0);
  CHECK(one.st_uid == 0);
  CHECK(one.st_mtim.tv_sec == 1);
}

TEST_CASE("a made-up status has the kind and the size") {
  const struct stat file = File(5, 1000);
  CHECK(S_ISREG(file.st_mode));
  CHECK(file.st_size == 1000);
  CHECK(file.st_blocks == 2);
  CHECK(file.st_nlink == 1);
  CHECK(S_ISDIR(Directory(5).st_mode));
  CHECK(S_ISDIR(OutsideDirectory(5).st_mode));
  CHECK(Directory(5).st_nlink == 2);
}

TEST_CASE("two names are the same file if and only if identity and kind are equal") {
  CHECK(SameFile(File(5, 1), File(5, 2)));
  CHECK_FALSE(SameFile(File(5, 1), File(6, 1)));
  CHECK_FALSE(SameFile(Directory(5), Directory(6)));
  // Identities of the job's directories and of directories outside are counted separately.
  CHECK_FALSE(SameFile(Directory(5), OutsideDirectory(5)));
}

}  // namespace
}  // namespace cccl_cache::daemon::made_up_status::made_up_status_test
