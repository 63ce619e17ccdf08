// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/transport/readiness.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>

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

/// Returns the descriptor of the timer that is not `own`.
int OtherTimer(int own) {
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int number = std::stoi(each.path().filename());
    std::error_code error;
    const auto target = std::filesystem::read_symlink(each.path(), error);
    if (number != own && target == "anon_inode:[timerfd]") return number;
  }
  FAIL("no other timer");
  return -1;
}

}  // namespace

TEST_CASE("the descriptor is readable when a watched socket has data to read") {
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

TEST_CASE("room to write is reported only while it is requested") {
  Scene scene;
  scene.readiness->Watch(scene.sockets[0], true);
  CHECK(scene.Ready());
  scene.readiness->Watch(scene.sockets[0], false);
  CHECK_FALSE(scene.Ready());
  scene.readiness->Watch(scene.sockets[0], true);
  CHECK(scene.Ready());
}

TEST_CASE("a timer makes the descriptor readable until it is set again or cleared") {
  Scene scene;
  const auto now = std::chrono::steady_clock::now();
  scene.readiness->WakeAt(now - std::chrono::seconds(1));
  CHECK(scene.Ready());
  CHECK(scene.Ready());
  scene.readiness->WakeAt(now + std::chrono::hours(1));
  CHECK_FALSE(scene.Ready());
  scene.readiness->WakeAt(Readiness::Moment{});  // a time in the past, which must not mean "never"
  CHECK(scene.Ready());
  scene.readiness->WakeAt(std::nullopt);
  CHECK_FALSE(scene.Ready());
}

TEST_CASE("Wait returns when a watched socket is readable, or at the deadline") {
  Scene scene;
  scene.readiness->Wait(Deadline::After(std::chrono::milliseconds(0)));
  scene.readiness->Watch(scene.sockets[0], false);
  scene.SaySomething();
  const Deadline later = Deadline::After(std::chrono::hours(1));
  scene.readiness->Wait(later);
  CHECK_FALSE(later.Passed());
}

TEST_CASE("the epoll set is replaced if the program has reused its descriptor number") {
  Scene scene;
  scene.readiness->Watch(scene.sockets[0], false);
  const int number = scene.readiness->fd();
  const int own = epoll_create1(EPOLL_CLOEXEC);
  REQUIRE(dup2(own, number) == number);
  CHECK(scene.readiness->fd() == -1);
  scene.readiness->Watch(scene.sockets[0], false);
  scene.readiness->WakeAt(std::nullopt);
  scene.SaySomething();
  CHECK(scene.Ready());
  CHECK(scene.readiness->fd() != number);
  epoll_event event = {};
  CHECK(epoll_wait(own, &event, 1, 0) == 0);
  close(own);
  CHECK(close(number) == 0);  // the program's file is still open
}

TEST_CASE("a timer is not set if the program has reused its descriptor number") {
  Scene scene;
  const int own = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  const int number = OtherTimer(own);
  REQUIRE(dup2(own, number) == number);
  scene.readiness->WakeAt(std::chrono::steady_clock::now() - std::chrono::seconds(1));
  CHECK(scene.Ready());
  pollfd waiting = {own, POLLIN, 0};
  CHECK(poll(&waiting, 1, 0) == 0);
  close(own);
  CHECK(close(number) == 0);  // the program's timer is still open
}

TEST_CASE("a wait ends if the program has reused the epoll set's descriptor number") {
  Scene scene;
  const int number = scene.readiness->fd();
  REQUIRE(dup2(scene.sockets[0], number) == number);
  const Deadline later = Deadline::After(std::chrono::hours(1));
  scene.readiness->Wait(later);
  CHECK_FALSE(later.Passed());
  CHECK(close(number) == 0);
}

}  // namespace readiness_test
