// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/transport/connection.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "cccl_cache/client.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/client/scripted_server.h"

namespace connection_test {

using cccl_cache::BuildResult;
using cccl_cache::Client;
using cccl_cache::Error;
using cccl_cache::Expected;
using cccl_cache::NvrtcBuild;
using cccl_cache::daemon::TemporaryDirectory;
using namespace std::chrono_literals;
using cccl_cache::Connection;
using cccl_cache::ConnectionPool;

namespace {

constexpr uint8_t kSettings = 4;
constexpr uint8_t kReset = 3;
constexpr uint8_t kPing = 6;
constexpr uint8_t kGoAway = 7;

Expected<BuildResult> Build(Client& client, std::chrono::milliseconds timeout = 60s) {
  return client.Build(NvrtcBuild{.source = "x"}, {.timeout = timeout});
}

Error ErrorOf(const Expected<BuildResult>& result) {
  REQUIRE_FALSE(result.ok());
  return result.error();
}

std::string Number(uint32_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(number >> shift));
  return bytes;
}

bool ReadAll(int fd, char* room, size_t size) {
  for (size_t got = 0; got < size;) {
    const ssize_t more = read(fd, room + got, size - got);
    if (more <= 0) return false;
    got += static_cast<size_t>(more);
  }
  return true;
}

/// Answers PINGs until the other end closes. Returns the number of answers.
int AnswerPings(int fd) {
  std::array<char, 24> preface;
  if (!ReadAll(fd, preface.data(), preface.size())) return 0;
  int answered = 0;
  std::array<unsigned char, 9> head;
  while (ReadAll(fd, reinterpret_cast<char*>(head.data()), head.size())) {
    std::string payload((head[0] << 16) + (head[1] << 8) + head[2], ' ');
    if (!ReadAll(fd, payload.data(), payload.size())) break;
    constexpr uint8_t kAcknowledged = 1;
    if (head[3] != kPing || head[4] == kAcknowledged) continue;
    ScriptedServer::Say(fd, ScriptedServer::Frame(kPing, kAcknowledged, 0, payload));
    ++answered;
  }
  return answered;
}

}  // namespace

TEST_CASE("a socket without a listener is an error at once, with path and remedy") {
  const TemporaryDirectory directory;
  auto client =
      Client::Open({.socket = directory / "socket", .fallback = CCCL_CACHE_FALLBACK_ERROR});
  const Error error = ErrorOf(Build(*client));
  CHECK(error.status == CCCL_CACHE_NO_DAEMON);
  CHECK(error.message.find(directory / "socket") != std::string::npos);
  CHECK(error.message.find("CCCL_CACHE_SOCKET") != std::string::npos);
}

TEST_CASE("a socket path that is too long is an invalid request") {
  auto client =
      Client::Open({.socket = "/" + std::string(200, 'x'), .fallback = CCCL_CACHE_FALLBACK_ERROR});
  CHECK(ErrorOf(Build(*client)).status == CCCL_CACHE_INVALID_REQUEST);
}

TEST_CASE("a silent server delays no caller beyond its deadline") {
  const TemporaryDirectory directory;
  const ScriptedServer silent(directory / "socket",
                              [](int fd, int) { ScriptedServer::ReadToEnd(fd); });
  auto client =
      Client::Open({.socket = directory / "socket", .fallback = CCCL_CACHE_FALLBACK_ERROR});
  CHECK(ErrorOf(Build(*client, 50ms)).status == CCCL_CACHE_DEADLINE);
}

TEST_CASE("a server that answers no PING is given up when half the time is left") {
  const TemporaryDirectory directory;
  const ScriptedServer silent(directory / "socket",
                              [](int fd, int) { ScriptedServer::ReadToEnd(fd); });
  auto client =
      Client::Open({.socket = directory / "socket", .fallback = CCCL_CACHE_FALLBACK_ERROR});
  const auto start = std::chrono::steady_clock::now();
  const Error error = ErrorOf(Build(*client, 2s));
  CHECK(error.status == CCCL_CACHE_UNAVAILABLE);
  CHECK(error.message.find("does not respond to pings") != std::string::npos);
  CHECK(std::chrono::steady_clock::now() - start >= 1s);
  CHECK(silent.connections() == 1);
}

TEST_CASE("a server that answers PINGs is waited for until the deadline") {
  const TemporaryDirectory directory;
  int answered = 0;
  {
    const ScriptedServer busy(directory / "socket", [&](int fd, int) {
      ScriptedServer::Say(fd, ScriptedServer::Frame(kSettings, 0, 0, ""));
      answered = AnswerPings(fd);
    });
    auto client =
        Client::Open({.socket = directory / "socket", .fallback = CCCL_CACHE_FALLBACK_ERROR});
    CHECK(ErrorOf(Build(*client, 2s)).status == CCCL_CACHE_DEADLINE);
  }
  CHECK(answered >= 2);
}

TEST_CASE("a server that sends without end delays no caller beyond its deadline") {
  const TemporaryDirectory directory;
  const ScriptedServer chatty(directory / "socket", [](int fd, int) {
    ScriptedServer::Say(fd, ScriptedServer::Frame(kSettings, 0, 0, ""));
    constexpr uint8_t kOfTheFuture = 0xee;  // a frame type that is not defined yet and must be
                                            // ignored
    const std::string talk = ScriptedServer::Frame(kOfTheFuture, 0, 0, std::string(10'000, 'x'));
    while (send(fd, talk.data(), talk.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  auto client =
      Client::Open({.socket = directory / "socket", .fallback = CCCL_CACHE_FALLBACK_ERROR});
  CHECK(ErrorOf(Build(*client, 100ms)).status == CCCL_CACHE_DEADLINE);
}

TEST_CASE("a connection closed before the server's settings means overloaded, and is tried again") {
  const TemporaryDirectory directory;
  const ScriptedServer closing(directory / "socket", [](int, int) {});
  auto client =
      Client::Open({.socket = directory / "socket", .fallback = CCCL_CACHE_FALLBACK_ERROR});
  CHECK(ErrorOf(Build(*client)).status == CCCL_CACHE_OVERLOADED);
  CHECK(closing.connections() > 3);
  CHECK(closing.connections() < 50);
}

TEST_CASE("the error names a server that does not speak gRPC") {
  const TemporaryDirectory directory;
  const ScriptedServer web(directory / "socket", [](int fd, int) {
    ScriptedServer::Say(fd, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    ScriptedServer::ReadToEnd(fd);
  });
  auto client =
      Client::Open({.socket = directory / "socket", .fallback = CCCL_CACHE_FALLBACK_ERROR});
  CHECK(ErrorOf(Build(*client)).status == CCCL_CACHE_PROTOCOL);
}

TEST_CASE("a call whose connection is lost is sent exactly once more") {
  const TemporaryDirectory directory;
  const ScriptedServer dying(directory / "socket", [](int fd, int) {
    ScriptedServer::Say(fd, ScriptedServer::Frame(kSettings, 0, 0, ""));
    char request[64];
    REQUIRE(read(fd, request, sizeof(request)) > 0);
  });
  auto client =
      Client::Open({.socket = directory / "socket", .fallback = CCCL_CACHE_FALLBACK_ERROR});
  CHECK(ErrorOf(Build(*client)).status == CCCL_CACHE_UNAVAILABLE);
  CHECK(dying.connections() == 2);
}

TEST_CASE("a stream that the server refuses is sent again") {
  const TemporaryDirectory directory;
  constexpr uint32_t kRefusedStream = 7;
  const ScriptedServer refusing(directory / "socket", [](int fd, int) {
    ScriptedServer::Say(fd, ScriptedServer::Frame(kSettings, 0, 0, ""));
    ScriptedServer::Say(fd, ScriptedServer::Frame(kReset, 0, 1, Number(kRefusedStream)));
    ScriptedServer::ReadToEnd(fd);
  });
  auto client =
      Client::Open({.socket = directory / "socket", .fallback = CCCL_CACHE_FALLBACK_ERROR});
  CHECK(ErrorOf(Build(*client)).status == CCCL_CACHE_OVERLOADED);
  CHECK(refusing.connections() > 3);
}

TEST_CASE("a call that a closing server did not process is sent on the next connection") {
  const TemporaryDirectory directory;
  const ScriptedServer leaving(directory / "socket", [](int fd, int) {
    ScriptedServer::Say(fd, ScriptedServer::Frame(kSettings, 0, 0, ""));
    ScriptedServer::Say(fd, ScriptedServer::Frame(kGoAway, 0, 0, Number(0) + Number(0)));
    ScriptedServer::ReadToEnd(fd);
  });
  auto client =
      Client::Open({.socket = directory / "socket", .fallback = CCCL_CACHE_FALLBACK_ERROR});
  CHECK(ErrorOf(Build(*client)).status == CCCL_CACHE_UNAVAILABLE);
  CHECK(leaving.connections() > 3);
}

TEST_CASE("a connection is used by one call at a time") {
  const TemporaryDirectory directory;
  const ScriptedServer silent(directory / "socket",
                              [](int fd, int) { ScriptedServer::ReadToEnd(fd); });
  ConnectionPool pool;
  for (int i = 0; i < 3; ++i) pool.Give(*Connection::Open(directory / "socket"));
  std::atomic<int> taken{0};
  std::atomic<int> most{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        auto connection = pool.Take();
        if (connection == nullptr) continue;
        const int now = ++taken;
        int seen = most;
        while (now > seen && !most.compare_exchange_weak(seen, now)) {
        }
        --taken;
        pool.Give(std::move(connection));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(most >= 1);
  CHECK(most <= 3);
  std::vector<std::unique_ptr<Connection>> left;
  while (auto connection = pool.Take()) left.push_back(std::move(connection));
  CHECK(left.size() == 3);
}

TEST_CASE("the pool drops connections beyond its capacity, and those that the peer closed") {
  const TemporaryDirectory directory;
  const ScriptedServer closing(directory / "socket", [](int, int) {});
  ConnectionPool pool;
  for (int i = 0; i < 40; ++i) pool.Give(*Connection::Open(directory / "socket"));
  while (closing.connections() < 40) std::this_thread::yield();
  // A connection may be counted just before it is closed.
  while (pool.Take() != nullptr) std::this_thread::yield();
  CHECK(pool.Take() == nullptr);
}

namespace {

/// The program's own connection, whose near end has unread bytes.
struct Own {
  Own() {
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    REQUIRE(write(ends[1], "mine!", 5) == 5);
  }
  ~Own() {
    for (const int end : ends) close(end);
  }
  Own(const Own&) = delete;
  Own& operator=(const Own&) = delete;

  /// Closes the connection's socket, and gives its descriptor number to the near end.
  void Take(Connection* connection) {
    const int number = connection->socket();
    REQUIRE(dup2(ends[0], number) == number);
    close(std::exchange(ends[0], number));
  }
  /// Returns whether the bytes are unread, no byte was written, and neither end was shut down.
  [[nodiscard]] bool Untouched() const {
    std::array<char, 64> bytes{};
    return recv(ends[1], bytes.data(), bytes.size(), MSG_DONTWAIT) < 0 && errno == EAGAIN &&
           recv(ends[0], bytes.data(), bytes.size(), MSG_DONTWAIT) == 5 &&
           write(ends[0], "x", 1) == 1;
  }

  std::array<int, 2> ends{};
};

}  // namespace

TEST_CASE("an idle connection with a reused descriptor number is dropped, the new file untouched") {
  const TemporaryDirectory directory;
  const ScriptedServer idle(directory / "socket",
                            [](int fd, int) { ScriptedServer::ReadToEnd(fd); });
  Own own;
  ConnectionPool pool;
  auto connection = Connection::Open(directory / "socket");
  REQUIRE(connection.ok());
  own.Take(connection->get());
  pool.Give(*std::move(connection));
  CHECK(pool.Take() == nullptr);
  CHECK(own.Untouched());
}

TEST_CASE("an idle connection is closed once the program has become another user", "[root]") {
  const TemporaryDirectory directory;
  const ScriptedServer idle(directory / "socket",
                            [](int fd, int) { ScriptedServer::ReadToEnd(fd); });
  ConnectionPool pool;
  pool.Give(*Connection::Open(directory / "socket"));
  auto connection = pool.Take();
  REQUIRE(connection != nullptr);
  const int number = connection->socket();
  struct stat before {};
  REQUIRE(fstat(number, &before) == 0);
  bool reusable = connection->Reusable();
  REQUIRE(reusable);
  constexpr uint32_t kOther = 65533;
  SECTION("its user") {
    REQUIRE(seteuid(kOther) == 0);
    reusable = connection->Reusable();
    pool.Give(std::move(connection));
    connection = pool.Take();
    REQUIRE(seteuid(0) == 0);
  }
  SECTION("its group") {
    const gid_t own = getegid();
    REQUIRE(setegid(kOther) == 0);
    reusable = connection->Reusable();
    pool.Give(std::move(connection));
    connection = pool.Take();
    REQUIRE(setegid(own) == 0);
  }
  CHECK_FALSE(reusable);
  CHECK(connection == nullptr);
  // The server in this process may accept late, so its socket may have taken the number.
  struct stat after {};
  CHECK((fstat(number, &after) != 0 || after.st_ino != before.st_ino));
}

TEST_CASE("a call on a reused descriptor number is lost, the new file untouched") {
  const TemporaryDirectory directory;
  const ScriptedServer idle(directory / "socket",
                            [](int fd, int) { ScriptedServer::ReadToEnd(fd); });
  Own own;
  cccl_cache::ByteChain body;
  body.Copy("body");
  cccl_cache::Call call("/path", body, nullptr, cccl_cache::Deadline::After(1h));
  auto connection = Connection::Open(directory / "socket");
  REQUIRE(connection.ok());
  (*connection)->Start(&call);
  SECTION("before its first byte") {
    own.Take(connection->get());
    CHECK((*connection)->Advance(&call));
  }
  SECTION("in its middle") {
    REQUIRE_FALSE((*connection)->Advance(&call));
    own.Take(connection->get());
    (*connection)->Recheck();
    while (!call.ended()) CHECK((*connection)->Turn(&call, call.deadline()));
  }
  (*connection)->Finish(&call);
  connection->reset();
  CHECK(own.Untouched());
}

}  // namespace connection_test
