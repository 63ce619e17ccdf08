// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstring>

#include "daemon/process/service_process.h"

using cccl_cache::daemon::NotifySocket;

namespace {

/// Stands in for systemd: a datagram socket under a name that the kernel chose.
class Listener {
 public:
  Listener() : fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    REQUIRE(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(sa_family_t)) == 0);
    socklen_t length = sizeof(address);
    REQUIRE(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length) == 0);
    const size_t name = length - offsetof(sockaddr_un, sun_path);
    address_ = "@" + std::string(address.sun_path + 1, name - 1);
  }
  ~Listener() { close(fd_); }

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] std::string Next() const {
    char message[256];
    const ssize_t size = recv(fd_, message, sizeof(message), 0);
    return size < 0 ? "nothing" : std::string(message, static_cast<size_t>(size));
  }

 private:
  int fd_;
  std::string address_;
};

}  // namespace

TEST_CASE("systemd is told over an abstract socket") {
  const Listener listener;
  const NotifySocket notify(listener.address());
  notify.Ready();
  CHECK(listener.Next() == "READY=1");
  notify.Reloading();
  CHECK(listener.Next().find("RELOADING=1\nMONOTONIC_USEC=") == 0);
  notify.Stopping();
  CHECK(listener.Next() == "STOPPING=1");
  CHECK(listener.Next() == "nothing");
}

TEST_CASE("without systemd, or with a name that is no socket, nothing happens") {
  NotifySocket("").Ready();
  NotifySocket("/nonexistent/socket").Ready();
  NotifySocket(std::string(500, 'x')).Ready();
}
