// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/files/whole_file.h"

#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <string>
#include <thread>

#include "base/files/file_descriptor.h"
#include "tests/support/temporary_directory.h"

namespace cccl_cache::whole_file_test {

TEST_CASE("a file is read to its end or up to the requested size") {
  const daemon::TemporaryDirectory directory;
  const std::string path = directory.Write("file", "0123456789");
  CHECK(ReadFileAt(path) == "0123456789");
  CHECK(ReadFileAt(path, 11) == "0123456789");
  CHECK(ReadFileAt(path, 10) == "0123456789");
  CHECK(ReadFileAt(path, 4) == "0123");
  CHECK(ReadFileAt(directory.Write("empty", "")) == "");
}

TEST_CASE("a file without a size is read whole") {
  const std::string bytes(100'000, 'x');
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const FileDescriptor from(ends[0]);
  std::jthread writer([&bytes, to = FileDescriptor(ends[1])] { (void)WriteAll(to.get(), bytes); });
  CHECK(ReadAll(from.get()) == bytes);
}

TEST_CASE("errno has the error of a failed read or write") {
  const daemon::TemporaryDirectory directory;
  CHECK_FALSE(ReadFileAt(directory / "nothing"));
  CHECK(errno == ENOENT);
  CHECK_FALSE(ReadFileAt(directory.path()));
  CHECK(errno == EISDIR);
  CHECK_FALSE(WriteAll(-1, "bytes"));
  CHECK(errno == EBADF);
}

}  // namespace cccl_cache::whole_file_test
