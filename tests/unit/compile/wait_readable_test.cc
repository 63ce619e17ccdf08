// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/wait_readable.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <thread>

#include "base/file_descriptor.h"

namespace cccl_cache::daemon {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPatience{60'000};  // only ever spent by a test that fails

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
  SECTION("end") { pipe.write.Close(); }
  CHECK(WaitReadable(pipe.read.get(), milliseconds(0)));
  CHECK(WaitReadable(pipe.read.get(), kPatience));
}

TEST_CASE("a time that is over ends the wait") {
  const Pipe pipe;
  CHECK_FALSE(WaitReadable(pipe.read.get(), milliseconds(1)));
  CHECK_FALSE(WaitReadable(pipe.read.get(), milliseconds(-1)));
}

std::atomic<int> signals = 0;

TEST_CASE("a signal is no end of the wait") {
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

}  // namespace
}  // namespace cccl_cache::daemon
