// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/glance.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>

namespace cccl_cache {
namespace {

class Sockets {
 public:
  Sockets() { REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_) == 0); }
  ~Sockets() {
    for (const int end : ends_) close(end);
  }
  Sockets(const Sockets&) = delete;
  Sockets& operator=(const Sockets&) = delete;

  [[nodiscard]] int here() const { return ends_[0]; }
  void Answer() const { REQUIRE(send(ends_[1], "x", 1, 0) == 1); }
  void Take() const {
    char byte = 0;
    REQUIRE(recv(ends_[0], &byte, 1, 0) == 1);
  }

 private:
  int ends_[2];
};

/// Waits that begin without a look, until one sees what is there.
int LeftOut(Glance& glance, const Sockets& sockets) {
  sockets.Answer();
  int count = 0;
  while (!glance.SeesReadable(sockets.here())) ++count;
  sockets.Take();
  return count;
}

TEST_CASE("an answer that is there is seen") {
  const Sockets sockets;
  Glance glance;
  CHECK(LeftOut(glance, sockets) == 0);
  CHECK(LeftOut(glance, sockets) == 0);
}

TEST_CASE("looks that are in vain are left out, the more the oftener, until one sees something") {
  const Sockets sockets;
  for (const int waits : {1, 3, 7, 15, 31, 63, 127, 255}) {
    INFO(waits << " waits in vain, the last with a look");
    Glance glance;
    for (int i = 0; i < waits; ++i) CHECK_FALSE(glance.SeesReadable(sockets.here()));
    CHECK(LeftOut(glance, sockets) == std::min(waits, 63));
    CHECK(LeftOut(glance, sockets) == 0);
  }
}

TEST_CASE("the other side's end is something to read") {
  Glance glance;
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  close(ends[1]);
  CHECK(glance.SeesReadable(ends[0]));
  close(ends[0]);
}

}  // namespace
}  // namespace cccl_cache
