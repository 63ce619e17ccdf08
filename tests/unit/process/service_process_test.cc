// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/service_process.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstddef>
#include <cstring>

namespace service_process_test {

using namespace cccl_cache::daemon;
using cccl_cache::daemon::NotifySocket;
using namespace std::chrono_literals;

TEST_CASE("the soft limit of open files is raised to the hard limit") {
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  REQUIRE(before.rlim_max > 100);
  const rlimit low{100, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &low) == 0);
  RaiseFileLimit();
  rlimit after{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &after) == 0);
  CHECK(after.rlim_cur == before.rlim_max);
  CHECK(after.rlim_max == before.rlim_max);
  CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
}

namespace {

/// Replaces systemd: a datagram socket under a name that the kernel chose.
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

TEST_CASE("systemd is notified over an abstract socket") {
  const Listener listener;
  const NotifySocket notify(listener.address());
  notify.Ready();
  CHECK(listener.Next() == "READY=1");
  notify.Reloading();
  CHECK(listener.Next().find("RELOADING=1\nMONOTONIC_USEC=") == 0);
  notify.Alive();
  CHECK(listener.Next() == "WATCHDOG=1");
  notify.Stopping();
  CHECK(listener.Next() == "STOPPING=1");
  CHECK(listener.Next() == "nothing");
}

TEST_CASE("a systemd that reads nothing does not block the daemon's notifications") {
  const Listener listener;
  const NotifySocket notify(listener.address());
  for (int i = 0; i < 10'000; ++i) notify.Alive();  // the kernel keeps 512 messages at most
  CHECK(listener.Next() == "WATCHDOG=1");
}

TEST_CASE("watchdog variables count only for this process and with a valid time") {
  const std::string here = std::to_string(getpid());
  CHECK(WatchdogTimeout("2000000", here) == 2s);
  CHECK(WatchdogTimeout("2000000", "") == 2s);
  CHECK(WatchdogTimeout("2000000", std::to_string(getppid())) == std::nullopt);
  for (const char* none : {"", "0", "-1", "2s", "99999999999999999999"}) {
    CHECK(WatchdogTimeout(none, here) == std::nullopt);
  }
}

TEST_CASE("without systemd, or with an invalid socket, nothing happens") {
  NotifySocket("").Ready();
  NotifySocket("/nonexistent/socket").Ready();
  NotifySocket(std::string(500, 'x')).Ready();
}

TEST_CASE("signals stay pending until they are read") {
  const Signals signals;
  CHECK(signals.Wait(0ms) == Told::kNothing);
  std::raise(SIGHUP);
  CHECK(signals.Wait(10s) == Told::kReload);
  std::raise(SIGTERM);
  CHECK(signals.Wait(10s) == Told::kStop);
  std::raise(SIGINT);
  CHECK(signals.Wait(10s) == Told::kStop);
  CHECK(signals.Wait(0ms) == Told::kNothing);
}

namespace {

constexpr int kEnded = 7;

/// Runs `body` in a child process and returns its status as from waitpid.
template <typename Body>
int StatusOf(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(kEnded);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return status;
}

}  // namespace

TEST_CASE("a process that does not end in time after a stop signal is ended") {
  constexpr int kCode = 4;
  const int late = StatusOf([] {
    const Signals signals;
    const LastExit last_exit(signals, 1ms, kCode);
    while (true) pause();
  });
  CHECK(WEXITSTATUS(late) == kCode);
  const int told_again = StatusOf([] {
    const Signals signals;
    kill(getpid(), SIGTERM);
    const LastExit last_exit(signals, 1h, kCode);
    while (true) pause();
  });
  CHECK(WEXITSTATUS(told_again) == kCode);
  const int in_time = StatusOf([] {
    const Signals signals;
    kill(getpid(), SIGHUP);  // not a signal to stop
    const LastExit last_exit(signals, 1h, kCode);
  });
  CHECK(WEXITSTATUS(in_time) == kEnded);
}

}  // namespace service_process_test
