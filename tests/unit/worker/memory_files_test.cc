// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/files/memory_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <string>

#include "base/files/file_descriptor.h"

namespace cccl_cache::daemon::memory_files_test {
namespace {

int Filled(std::string_view contents) {
  return OpenInMemory(FileDescriptor(memfd_create("file", MFD_CLOEXEC | MFD_ALLOW_SEALING)),
                      contents);
}

TEST_CASE("a file in memory is read from its start") {
  const FileDescriptor file(Filled(std::string("a\0b", 3)));
  REQUIRE(file.valid());
  std::array<char, 8> bytes{};
  CHECK(read(file.get(), bytes.data(), bytes.size()) == 3);
  CHECK(std::string(bytes.data(), 3) == std::string("a\0b", 3));
  CHECK((fcntl(file.get(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("a file in memory can't be changed, even through another descriptor") {
  const FileDescriptor file(Filled("text"));
  CHECK(write(file.get(), "x", 1) == -1);
  CHECK(ftruncate(file.get(), 2) == -1);
  CHECK(fcntl(file.get(), F_ADD_SEALS, 0) == -1);
  CHECK(lseek(file.get(), 0, SEEK_END) == 4);
}

TEST_CASE("an empty file in memory is valid") {
  const FileDescriptor file(Filled(""));
  REQUIRE(file.valid());
  char byte = 0;
  CHECK(read(file.get(), &byte, 1) == 0);
}

TEST_CASE("a write above the process's limit is an error, not a signal") {
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

std::string ReadAll(int fd) {
  std::string text(64, '\0');
  const ssize_t length = read(fd, text.data(), text.size());
  return text.substr(0, length < 0 ? 0 : static_cast<size_t>(length));
}

TEST_CASE("a precompiled header is written from its beginning") {
  const FileDescriptor memory(memfd_create("test", 0));
  REQUIRE(write(memory.get(), "older text", 10) == 10);
  PchFile file(memory.get(), PchUse::kWrite);
  CHECK(file.Open(O_RDONLY) == -ENOENT);
  const FileDescriptor opened(file.Open(O_WRONLY | O_CREAT | O_TRUNC));
  REQUIRE(opened.valid());
  CHECK(write(opened.get(), "new", 3) == 3);
  CHECK(lseek(memory.get(), 0, SEEK_SET) == 0);
  CHECK(ReadAll(memory.get()) == "new");
}

TEST_CASE("a precompiled header can be opened once for reading, and not for writing") {
  const FileDescriptor memory(memfd_create("test", 0));
  REQUIRE(write(memory.get(), "text", 4) == 4);
  PchFile file(memory.get(), PchUse::kRead);
  CHECK(file.Open(O_WRONLY | O_CREAT | O_TRUNC) == -ENOENT);
  CHECK(file.Open(O_RDWR) == -ENOENT);
  const FileDescriptor opened(file.Open(O_RDONLY));
  REQUIRE(opened.valid());
  CHECK(ReadAll(opened.get()) == "text");
  CHECK(file.Open(O_RDONLY) == -ENOENT);
}

TEST_CASE("a job without a precompiled header finds none") {
  PchFile file(-1, PchUse::kNone);
  CHECK(file.Open(O_RDONLY) == -ENOENT);
  CHECK(file.Open(O_WRONLY | O_CREAT) == -ENOENT);
}

TEST_CASE("a compiler's scratch files differ from users' files with similar names") {
  CHECK(ScratchFiles::Owns("/tmp/edg1_123"));
  CHECK(ScratchFiles::Owns("/tmp/edg12_4"));
  CHECK_FALSE(ScratchFiles::Owns("/tmp/edgar"));
  CHECK_FALSE(ScratchFiles::Owns("/tmp/edgar/kernel.cu"));
  CHECK_FALSE(ScratchFiles::Owns("/tmp/edg1/kernel.cu"));
  CHECK_FALSE(ScratchFiles::Owns("/tmp/edg"));
  CHECK_FALSE(ScratchFiles::Owns("/home/tmp/edg1_123"));
}

}  // namespace
}  // namespace cccl_cache::daemon::memory_files_test
