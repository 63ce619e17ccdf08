// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/files/verified_descriptor.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <optional>

namespace verified_descriptor_test {

using cccl_cache::FileDescriptor;
using cccl_cache::VerifiedDescriptor;

namespace {

bool IsOpen(int number) { return fcntl(number, F_GETFD) >= 0; }

/// An owner of one end of a pair of sockets, and the number of that end.
struct Scene {
  Scene() {
    std::array<int, 2> ends{};
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    number = ends[0];
    other = FileDescriptor(ends[1]);
    owner.emplace(FileDescriptor(ends[0]));
  }

  int number = -1;
  FileDescriptor other;
  std::optional<VerifiedDescriptor> owner;
};

}  // namespace

TEST_CASE("a descriptor is closed with its owner") {
  Scene scene;
  CHECK(scene.owner->Get() == scene.number);
  VerifiedDescriptor moved(*std::move(scene.owner));
  scene.owner.reset();
  CHECK(moved.Get() == scene.number);
  moved = VerifiedDescriptor();
  CHECK(moved.Get() == -1);
  CHECK_FALSE(IsOpen(scene.number));
}

TEST_CASE("a reused descriptor number is left open by its earlier owner") {
  Scene scene;
  REQUIRE(dup2(scene.other.get(), scene.number) == scene.number);
  CHECK(scene.owner->Get() == -1);
  scene.owner.reset();
  CHECK(IsOpen(scene.number));
  close(scene.number);
}

TEST_CASE("the number of a closed standard stream is not reused") {
  const int kept = dup(STDIN_FILENO);
  close(STDIN_FILENO);
  int number = -1;
  {
    const VerifiedDescriptor opened(FileDescriptor(open("/", O_RDONLY | O_CLOEXEC)));
    number = opened.Get();
    CHECK_FALSE(IsOpen(STDIN_FILENO));
  }
  dup2(kept, STDIN_FILENO);
  close(kept);
  CHECK(number > STDERR_FILENO);
}

TEST_CASE("Get returns -1 after the program has closed the descriptor") {
  Scene scene;
  close(scene.number);
  CHECK(scene.owner->Get() == -1);
  CHECK(VerifiedDescriptor(FileDescriptor(scene.number)).Get() == -1);
}

}  // namespace verified_descriptor_test
