// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/poll.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <optional>
#include <stop_token>
#include <thread>

#include "base/files/file_descriptor.h"

namespace cccl_cache::poll_test {
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

/// Makes the descriptor readable. Returns how many waits do not poll it before one does.
int LeftOut(Glance& glance, const Sockets& sockets) {
  sockets.Answer();
  int count = 0;
  while (!glance.SeesReadable(sockets.here())) ++count;
  sockets.Take();
  return count;
}

TEST_CASE("polling sees bytes that have arrived") {
  const Sockets sockets;
  Glance glance;
  CHECK(LeftOut(glance, sockets) == 0);
  CHECK(LeftOut(glance, sockets) == 0);
}

TEST_CASE("polling becomes rarer after vain attempts, until one succeeds") {
  const Sockets sockets;
  for (const int waits : {1, 3, 7, 15, 31, 63, 127, 255}) {
    INFO(waits << " waits in vain, the last with a look");
    Glance glance;
    for (int i = 0; i < waits; ++i) CHECK_FALSE(glance.SeesReadable(sockets.here()));
    CHECK(LeftOut(glance, sockets) == std::min(waits, 63));
    CHECK(LeftOut(glance, sockets) == 0);
  }
}

TEST_CASE("the peer's end makes a descriptor readable") {
  Glance glance;
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  close(ends[1]);
  CHECK(glance.SeesReadable(ends[0]));
  close(ends[0]);
}

using std::chrono::milliseconds;

constexpr milliseconds kPatience{60'000};  // only spent by a failing test

struct Pipe {
  Pipe() {
    int fds[2];
    REQUIRE(pipe2(fds, O_CLOEXEC) == 0);
    read = FileDescriptor(fds[0]);
    write = FileDescriptor(fds[1]);
  }
  FileDescriptor read;
  FileDescriptor write;
};

TEST_CASE("a descriptor is readable if it has bytes, or its peer has ended") {
  Pipe pipe;
  CHECK_FALSE(WaitReadable(pipe.read.get(), milliseconds(0)));
  SECTION("bytes") { REQUIRE(write(pipe.write.get(), "x", 1) == 1); }
  SECTION("the peer's end") { pipe.write.Close(); }
  CHECK(WaitReadable(pipe.read.get(), milliseconds(0)));
  CHECK(WaitReadable(pipe.read.get(), kPatience));
}

TEST_CASE("an expired timeout ends the wait") {
  const Pipe pipe;
  CHECK_FALSE(WaitReadable(pipe.read.get(), milliseconds(1)));
  CHECK_FALSE(WaitReadable(pipe.read.get(), milliseconds(-1)));
}

std::atomic<int> signals = 0;

TEST_CASE("a signal does not end the wait") {
  Pipe pipe;
  struct sigaction counts {};
  struct sigaction before {};
  counts.sa_handler = [](int) { ++signals; };
  REQUIRE(sigaction(SIGUSR1, &counts, &before) == 0);
  std::atomic<bool> over = false;
  std::atomic<bool> readable = false;
  std::thread waits([&] {
    readable = WaitReadable(pipe.read.get(), kPatience);
    over = true;
  });
  while (signals < 100) {
    pthread_kill(waits.native_handle(), SIGUSR1);
    std::this_thread::yield();
  }
  CHECK_FALSE(over);
  pipe.write.Close();
  waits.join();
  CHECK(readable);
  sigaction(SIGUSR1, &before, nullptr);
}

constexpr milliseconds kNow{0};

TEST_CASE("an event stays readable after a stop request") {
  std::stop_source source;
  const StopEvent event(source.get_token());
  REQUIRE(event.valid());
  CHECK_FALSE(WaitReadable(event.fd(), kNow));
  source.request_stop();
  CHECK(WaitReadable(event.fd(), kNow));
  CHECK(WaitReadable(event.fd(), kNow));
}

TEST_CASE("an event that is made after the stop is readable at once") {
  std::stop_source source;
  source.request_stop();
  const StopEvent event(source.get_token());
  CHECK(WaitReadable(event.fd(), kNow));
}

TEST_CASE("a thread that waits for an event is woken by a stop from another thread") {
  std::stop_source source;
  const StopEvent event(source.get_token());
  const std::jthread stops([&] { source.request_stop(); });
  CHECK(WaitReadable(event.fd(), kPatience));
}

TEST_CASE("a stop after the event's destruction writes to no descriptor") {
  std::stop_source source;
  std::optional<StopEvent> event(std::in_place, source.get_token());
  const int number = event->fd();
  event.reset();
  const StopEvent next{std::stop_token()};
  REQUIRE(next.fd() == number);
  source.request_stop();
  CHECK_FALSE(WaitReadable(next.fd(), kNow));
}

}  // namespace
}  // namespace cccl_cache::poll_test
