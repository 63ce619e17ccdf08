// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <string>

#include "base/file_descriptor.h"
#include "daemon/worker/files/memory_files.h"

namespace cccl_cache::daemon {
namespace {

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

TEST_CASE("a precompiled header is read once, by the compiler, and not written") {
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

}  // namespace
}  // namespace cccl_cache::daemon
