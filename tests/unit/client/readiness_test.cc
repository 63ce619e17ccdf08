// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/transport/readiness.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>

namespace readiness_test {

using cccl_cache::Deadline;
using cccl_cache::Readiness;

namespace {

struct Scene {
  Scene() { REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) == 0); }
  ~Scene() {
    for (const int socket : sockets) close(socket);
  }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  [[nodiscard]] bool Ready() const {
    pollfd waiting = {readiness->fd(), POLLIN, 0};
    return poll(&waiting, 1, 0) == 1;
  }
  void SaySomething() const { REQUIRE(write(sockets[1], "x", 1) == 1); }

  std::array<int, 2> sockets{};
  cccl_cache::Expected<Readiness> readiness = Readiness::Make();
};

}  // namespace

TEST_CASE("the descriptor is readable when a watched socket has something to be read") {
  const Scene scene;
  auto readiness = Readiness::Make();
  REQUIRE(readiness.ok());
  Scene watched;
  watched.readiness->Watch(watched.sockets[0], false);
  CHECK_FALSE(watched.Ready());
  watched.SaySomething();
  CHECK(watched.Ready());
  watched.readiness->Forget(watched.sockets[0]);
  CHECK_FALSE(watched.Ready());
}

TEST_CASE("room to write counts only as long as it is asked for") {
  Scene scene;
  scene.readiness->Watch(scene.sockets[0], true);
  CHECK(scene.Ready());
  scene.readiness->Watch(scene.sockets[0], false);
  CHECK_FALSE(scene.Ready());
  scene.readiness->Watch(scene.sockets[0], true);
  CHECK(scene.Ready());
}

TEST_CASE("a moment makes it readable from then on, until there is another or none") {
  Scene scene;
  const auto now = std::chrono::steady_clock::now();
  scene.readiness->WakeAt(now - std::chrono::seconds(1));
  CHECK(scene.Ready());
  CHECK(scene.Ready());
  scene.readiness->WakeAt(now + std::chrono::hours(1));
  CHECK_FALSE(scene.Ready());
  scene.readiness->WakeAt(Readiness::Moment{});  // long ago, and not "never"
  CHECK(scene.Ready());
  scene.readiness->WakeAt(std::nullopt);
  CHECK_FALSE(scene.Ready());
}

TEST_CASE("who waits goes on when there is something, or when the time is over") {
  Scene scene;
  scene.readiness->Wait(Deadline::After(std::chrono::milliseconds(0)));
  scene.readiness->Watch(scene.sockets[0], false);
  scene.SaySomething();
  const Deadline later = Deadline::After(std::chrono::hours(1));
  scene.readiness->Wait(later);
  CHECK_FALSE(later.Passed());
}

}  // namespace readiness_test
