// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>

#include "daemon/worker/spare_worker.h"

namespace cccl_cache::daemon {
namespace {

TEST_CASE("touching ends at once when something is to be read") {
  std::array<int, 2> sockets{};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) == 0);
  REQUIRE(write(sockets[1], "x", 1) == 1);
  // More than any machine has: only the socket ends it.
  TouchHeap(size_t{1} << 46, sockets[0]);
  char byte = 0;
  CHECK(read(sockets[0], &byte, 1) == 1);  // and nothing was taken from it
  for (const int socket : sockets) close(socket);
}

TEST_CASE("less than a piece is not touched, and no memory is left behind") {
  std::array<int, 2> sockets{};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) == 0);
  TouchHeap(1000, sockets[0]);
  TouchHeap(33u << 20, sockets[0]);
  TouchHeap(33u << 20, sockets[0]);
  for (const int socket : sockets) close(socket);
}

}  // namespace
}  // namespace cccl_cache::daemon
