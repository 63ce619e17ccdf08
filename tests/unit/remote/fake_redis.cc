// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/remote/fake_redis.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <utility>

#include "tests/unit/remote/shown_reply.h"

namespace cccl_cache::daemon {
namespace {

constexpr std::chrono::minutes kPatience{1};

void SetPatience(int fd) {
  const timeval limit = {std::chrono::seconds(kPatience).count(), 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

}  // namespace

FakeConnection::FakeConnection(int fd) : fd_(fd) { SetPatience(fd); }

bool FakeConnection::Fill() {
  char bytes[64 << 10];
  const ssize_t size = recv(fd_.get(), bytes, sizeof(bytes), 0);
  if (size > 0) received_.append(bytes, static_cast<size_t>(size));
  return size > 0;
}

std::string FakeConnection::Line() {
  while (received_.find("\r\n") == std::string::npos) {
    if (!Fill()) return "";
  }
  std::string line = received_.substr(0, received_.find("\r\n"));
  received_.erase(0, line.size() + 2);
  return line;
}

std::string FakeConnection::Next() {
  const std::string head = Line();
  if (head.empty()) return "closed";
  std::string command;
  for (int parts = std::atoi(head.c_str() + 1); parts > 0; --parts) {
    const size_t size = std::strtoul(Line().c_str() + 1, nullptr, 10);
    while (received_.size() < size + 2) {
      if (!Fill()) return "closed";
    }
    command += (command.empty() ? "" : " ") + received_.substr(0, size);
    received_.erase(0, size + 2);
  }
  return command;
}

void FakeConnection::Send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // the link closed the connection, which the test will notice
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

void FakeConnection::Greet() {
  REQUIRE(Next() == "PING");
  Send("+PONG\r\n");
}

FakeRedis::FakeRedis() : listener_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  address_.path = directory_ / "redis";
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  address_.path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  REQUIRE(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  REQUIRE(listen(listener_.get(), 16) == 0);
}

FakeRedis::FakeRedis(const std::string& host)
    : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  socklen_t size = sizeof(address);
  REQUIRE(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(listen(listener_.get(), 16) == 0);
  REQUIRE(getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  address_.host = host;
  address_.port = ntohs(address.sin_port);
}

FakeRedis FakeRedis::OnPort() { return FakeRedis("127.0.0.1"); }

FakeConnection FakeRedis::Accept() const {
  pollfd ready = {listener_.get(), POLLIN, 0};
  REQUIRE(poll(&ready, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count())) == 1);
  const int fd = accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
  REQUIRE(fd >= 0);
  return FakeConnection(fd);
}

KeysOfTwo FindKeys(RedisServers& servers, FakeConnection& here) {
  KeysOfTwo keys;
  for (int i = 0; keys.here.empty() || keys.there.empty(); ++i) {
    const std::string key = "key" + std::to_string(i);
    if (servers.Send(key, {"GET", key}, [](const RedisReply*) {})) {
      REQUIRE(here.Next() == "GET " + key);
      here.Send("$-1\r\n");
      keys.here = key;
    } else {
      keys.there = key;
    }
  }
  return keys;
}

void Said::Add(std::string text) {
  MutexLock lock(mutex_);
  said_.push_back(std::move(text));
  added_.NotifyAll();
}

std::vector<std::string> Said::all() const {
  MutexLock lock(mutex_);
  return said_;
}

std::vector<std::string> Said::Await(size_t count) {
  MutexLock lock(mutex_);
  added_.WaitFor(mutex_, kPatience,
                 [this, count]() REQUIRES(mutex_) { return said_.size() >= count; });
  return said_;
}

RedisLink::Then Said::Adding() {
  return [this](const RedisReply* reply) { Add(Shown(reply)); };
}

}  // namespace cccl_cache::daemon
