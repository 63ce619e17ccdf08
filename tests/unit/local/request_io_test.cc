// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/local/request_io.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <thread>

#include "base/files/file_descriptor.h"
#include "tests/support/no_more_threads.h"

namespace request_io_test {

using namespace cccl_cache::daemon;
using cccl_cache::FileDescriptor;

namespace {

struct Sockets {
  Sockets() {
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    here = FileDescriptor(ends[0]);
    there = FileDescriptor(ends[1]);
  }

  /// Closes `here` and returns all bytes sent to `there`.
  std::string Rest() {
    here.Close();
    std::string all;
    char chunk[256];
    for (ssize_t got; (got = read(there.get(), chunk, sizeof(chunk))) > 0;) all.append(chunk, got);
    return all;
  }

  FileDescriptor here;
  FileDescriptor there;
};

std::string Head(const std::string& length) { return std::string("\0", 1) + length; }

}  // namespace

TEST_CASE("a large request that arrives in pieces is read whole") {
  Sockets sockets;
  const std::string request(3 << 20, 'r');
  std::thread library([&] {
    const std::string message = Head({'\0', '\x30', '\0', '\0'}) + request;
    for (size_t sent = 0; sent < message.size();) {
      const ssize_t size = send(sockets.there.get(), message.data() + sent,
                                std::min<size_t>(message.size() - sent, 70'001), 0);
      if (size <= 0) break;
      sent += static_cast<size_t>(size);
    }
  });
  const Result<std::string> received = ReceiveRequest(sockets.here.get());
  library.join();
  REQUIRE(received.ok());
  CHECK((*received == request));
}

TEST_CASE("truncated or malformed input is refused") {
  for (const std::string& said :
       {std::string(), std::string("\0\0\0", 3), Head({'\0', '\0', '\0', '\x05'}) + "four",
        std::string("\1\0\0\0\0", 5), Head({'\x7f', '\0', '\0', '\0'}) + "not two gigabytes"}) {
    Sockets sockets;
    REQUIRE(write(sockets.there.get(), said.data(), said.size()) ==
            static_cast<ssize_t>(said.size()));
    sockets.there.Close();
    const Result<std::string> received = ReceiveRequest(sockets.here.get());
    REQUIRE_FALSE(received.ok());
    CHECK(received.error().message.find("started by libcccl_cache") != std::string::npos);
  }
}

TEST_CASE("a reply follows an empty error name; an error's text follows its name") {
  Sockets reply;
  CHECK(SendReply(reply.here.get(), "reply"));
  CHECK(reply.Rest() == std::string("\0\0\0\0\0\0\0\0\0\5reply", 15));
  Sockets error;
  CHECK(SendError(error.here.get(), {ErrorCode::kDenied, "no"}));
  CHECK(error.Rest() == std::string("\0\0\0\0\6denied\0\0\0\0\2no", 18));
}

TEST_CASE("sending a reply without a reader raises no signal") {
  Sockets sockets;
  sockets.there.Close();
  CHECK_FALSE(SendReply(sockets.here.get(), "reply"));
}

TEST_CASE("the process ends when the other end of its socket is closed") {
  Sockets sockets;
  const pid_t child = fork();
  if (child == 0) {
    sockets.there.Close();
    EndWithCaller(sockets.here.get());
    while (true) pause();
  }
  sockets.there.Close();
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
}

TEST_CASE("a process that can start no thread continues without watching its caller") {
  Sockets sockets;
  const NoMoreThreads none;
  CHECK_NOTHROW(EndWithCaller(sockets.here.get()));
}

}  // namespace request_io_test
