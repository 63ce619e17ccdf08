// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <string>

#include "base/file_descriptor.h"
#include "daemon/worker/files/memory_files.h"

namespace cccl_cache::daemon {
namespace {

int Filled(std::string_view contents) {
  return OpenInMemory(FileDescriptor(memfd_create("file", MFD_CLOEXEC | MFD_ALLOW_SEALING)),
                      contents);
}

TEST_CASE("a file in memory holds the bytes, from its start on") {
  const FileDescriptor file(Filled(std::string("a\0b", 3)));
  REQUIRE(file.valid());
  std::array<char, 8> bytes{};
  CHECK(read(file.get(), bytes.data(), bytes.size()) == 3);
  CHECK(std::string(bytes.data(), 3) == std::string("a\0b", 3));
  CHECK((fcntl(file.get(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("nobody can change it, nor have it changed") {
  const FileDescriptor file(Filled("text"));
  CHECK(write(file.get(), "x", 1) == -1);
  CHECK(ftruncate(file.get(), 2) == -1);
  CHECK(fcntl(file.get(), F_ADD_SEALS, 0) == -1);
  CHECK(lseek(file.get(), 0, SEEK_END) == 4);
}

TEST_CASE("an empty file is one") {
  const FileDescriptor file(Filled(""));
  REQUIRE(file.valid());
  char byte = 0;
  CHECK(read(file.get(), &byte, 1) == 0);
}

TEST_CASE("more than the process may write is an error, and no deadly signal") {
  rlimit before;
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit small = {100, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const int refused = Filled(std::string(101, 'x'));
  const FileDescriptor fits(Filled(std::string(100, 'x')));
  setrlimit(RLIMIT_FSIZE, &before);
  CHECK(refused == -EFBIG);
  CHECK(fits.valid());
}

}  // namespace
}  // namespace cccl_cache::daemon
