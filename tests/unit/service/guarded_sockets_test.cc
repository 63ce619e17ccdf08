// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/transport/guarded_sockets.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/http2_frames.h"

namespace cccl_cache::daemon::guarded_sockets_test {
namespace {

struct Pair {
  FileDescriptor client;
  FileDescriptor served;

  Pair() {
    int pair[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    client = FileDescriptor(pair[0]);
    served = FileDescriptor(pair[1]);
  }
  void Send(const std::string& bytes) const {
    REQUIRE(send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(bytes.size()));
  }
  [[nodiscard]] bool HungUp() const {
    pollfd client_end{client.get(), 0, 0};
    return poll(&client_end, 1, 0) == 1;
  }
};

/// Receives into pieces of this size, like gRPC.
ssize_t Receive(int fd, size_t piece, int flags = 0) {
  std::vector<char> buffer(256 << 10);
  std::vector<iovec> pieces;
  for (size_t at = 0; at < buffer.size() && pieces.size() < 64; at += piece) {
    pieces.push_back({buffer.data() + at, std::min(piece, buffer.size() - at)});
  }
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  return recvmsg(fd, &message, flags);
}

std::shared_ptr<GuardedSocket> Guard(const Pair& pair) {
  return GuardSocket(pair.served.get(),
                     std::make_shared<UserTraffic>(TrafficLimits{}, FrameRules::Clock::now()));
}

const std::string kGood = kPreface + Frame(kHeadersFrame, kEndOfHeaders, 100);
const std::string kBad =
    kPreface + Frame(kHeadersFrame, 0, 9'000) + Frame(kContinuationFrame, kEndOfHeaders, 9'000);

TEST_CASE("bytes that break a rule are not received, and the client is cut off") {
  for (const size_t piece : {size_t{7}, size_t{1 << 10}, size_t{256 << 10}}) {
    const Pair pair;
    const auto guarded = Guard(pair);
    pair.Send(kBad);
    ssize_t received = 0;
    size_t in_all = 0;
    while ((received = Receive(pair.served.get(), piece)) > 0) {
      in_all += static_cast<size_t>(received);
    }
    CHECK(received == -1);
    CHECK(errno == ECONNRESET);
    CHECK(in_all < kBad.size());
    CHECK(guarded->broken() != nullptr);
    CHECK(pair.HungUp());
    CHECK(Receive(pair.served.get(), piece) <= 0);
  }
}

TEST_CASE("bytes that break no rule are received as they are") {
  const Pair pair;
  const auto guarded = Guard(pair);
  pair.Send(kGood);
  CHECK(Receive(pair.served.get(), 10, MSG_PEEK) == static_cast<ssize_t>(kGood.size()));
  CHECK(Receive(pair.served.get(), 10) == static_cast<ssize_t>(kGood.size()));
  CHECK(Receive(pair.served.get(), 10) == -1);
  CHECK(errno == EAGAIN);
  CHECK(guarded->broken() == nullptr);
  CHECK_FALSE(pair.HungUp());
}

TEST_CASE("a socket that is not guarded receives anything") {
  const Pair pair;
  pair.Send(kBad);
  CHECK(Receive(pair.served.get(), 256 << 10) == static_cast<ssize_t>(kBad.size()));
}

TEST_CASE("a new socket with the descriptor number of a guarded one receives anything") {
  Pair pair;
  const auto guarded = Guard(pair);
  const Pair other;
  REQUIRE(dup2(other.served.get(), pair.served.get()) == pair.served.get());
  other.Send(kBad);
  CHECK(Receive(pair.served.get(), 256 << 10) == static_cast<ssize_t>(kBad.size()));
  CHECK(guarded->broken() == nullptr);
}

TEST_CASE("the rules see sent frames, and an answered call makes room for a new one") {
  const Pair pair;
  const auto user =
      std::make_shared<UserTraffic>(TrafficLimits{.open_calls = 1}, FrameRules::Clock::now());
  const auto guarded = GuardSocket(pair.served.get(), user);
  pair.Send(kGood);
  REQUIRE(Receive(pair.served.get(), 10) > 0);
  CHECK_FALSE(guarded->has_sent());
  CHECK_FALSE(user->OpenCall(FrameRules::Clock::now()));
  std::string answer = Frame(kHeadersFrame, kEndOfHeaders | kEndOfStream, 50);
  std::vector<iovec> pieces = {{answer.data(), 5}, {answer.data() + 5, answer.size() - 5}};
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  REQUIRE(sendmsg(pair.served.get(), &message, MSG_NOSIGNAL) ==
          static_cast<ssize_t>(answer.size()));
  CHECK(guarded->has_sent());
  CHECK(user->OpenCall(FrameRules::Clock::now()));
}

TEST_CASE("a forked child can send even if a thread of its parent held the lock") {
  const Pair pair;
  const auto guarded = Guard(pair);
  std::jthread busy([&pair](const std::stop_token& stop) {
    while (!stop.stop_requested()) Receive(pair.served.get(), 10);
  });
  for (int i = 0; i < 100; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      char byte = 0;
      iovec piece{&byte, 1};
      msghdr message{};
      message.msg_iov = &piece;
      message.msg_iovlen = 1;
      alarm(60);
      _exit(sendmsg(pair.client.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 ? 0 : 1);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(status == 0);
  }
}

TEST_CASE("calls of an ended connection count until the server closes its socket") {
  const Pair pair;
  const auto user =
      std::make_shared<UserTraffic>(TrafficLimits{.open_calls = 2}, FrameRules::Clock::now());
  const auto guarded = GuardSocket(pair.served.get(), user);
  pair.Send(kGood);
  REQUIRE(Receive(pair.served.get(), 10) > 0);
  guarded->End();
  pair.Send(Frame(kHeadersFrame, kEndOfHeaders, 100, 3));
  REQUIRE(Receive(pair.served.get(), 10) > 0);
  const auto later = FrameRules::Clock::now() + std::chrono::seconds(1);
  CHECK_FALSE(guarded->ReleaseIfClosed());
  CHECK_FALSE(user->OpenCall(later));
  // Another socket gets the descriptor number.
  const Pair other;
  REQUIRE(dup2(other.served.get(), pair.served.get()) == pair.served.get());
  CHECK(guarded->ReleaseIfClosed());
  CHECK(user->OpenCall(later));
}

TEST_CASE("a server that receives otherwise than by recvmsg fails the check at start") {
  std::thread reader;
  const Status checked = CheckThatSocketsAreGuarded(
      [&reader](FileDescriptor socket) {
        reader = std::thread([socket = std::move(socket)] {
          char buffer[4096];
          pollfd readable{socket.get(), POLLIN, 0};
          while (poll(&readable, 1, -1) == 1 && read(socket.get(), buffer, sizeof(buffer)) > 0) {
          }
        });
      },
      std::chrono::milliseconds(100));
  reader.join();
  REQUIRE_FALSE(checked.ok());
  CHECK(checked.error().message.find("gRPC") != std::string::npos);
}

TEST_CASE("a server that sends otherwise than by sendmsg fails the check at start") {
  std::thread reader;
  const Status checked = CheckThatSocketsAreGuarded(
      [&reader](FileDescriptor socket) {
        REQUIRE(write(socket.get(), "settings", 8) == 8);
        reader = std::thread([socket = std::move(socket)] {
          pollfd readable{socket.get(), POLLIN, 0};
          while (poll(&readable, 1, -1) == 1 && Receive(socket.get(), 4'096) > 0) {
          }
        });
      },
      std::chrono::seconds(20));
  reader.join();
  CHECK_FALSE(checked.ok());
}

TEST_CASE("a server that closes the connection at once fails the check at start") {
  const Status checked = CheckThatSocketsAreGuarded([](FileDescriptor socket) { socket.Close(); },
                                                    std::chrono::seconds(20));
  CHECK_FALSE(checked.ok());
}

}  // namespace
}  // namespace cccl_cache::daemon::guarded_sockets_test
