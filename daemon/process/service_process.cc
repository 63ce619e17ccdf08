// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/service_process.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <latch>
#include <vector>

#include "daemon/system/thread_name.h"

namespace cccl_cache::daemon {
namespace {

/// Returns the number, or 0 if the text is not a number.
int64_t Number(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

}  // namespace

Signals::Signals() {
  sigemptyset(&set_);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set_, number);
  pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

Told Signals::Wait(std::chrono::milliseconds patience) const {
  const timespec timeout{.tv_sec = patience.count() / 1'000,
                         .tv_nsec = patience.count() % 1'000 * 1'000'000};
  switch (sigtimedwait(&set_, nullptr, &timeout)) {
    case SIGTERM:
    case SIGINT:
      return Told::kStop;
    case SIGHUP:
      return Told::kReload;
    default:
      return Told::kNothing;
  }
}

void StopThisProcess() { kill(getpid(), SIGTERM); }

LastExit::LastExit(const Signals& signals, std::chrono::milliseconds patience, int code)
    : thread_([&signals, patience, code](const std::stop_token& stop) {
        NameThread("last exit");
        using Clock = std::chrono::steady_clock;
        const Clock::time_point end = Clock::now() + patience;
        Told told = Told::kNothing;
        while (!stop.stop_requested() && told != Told::kStop && Clock::now() < end) {
          const auto rest = std::max(end - Clock::now(), Clock::duration::zero());
          told = signals.Wait(std::chrono::ceil<std::chrono::milliseconds>(rest));
        }
        if (!stop.stop_requested()) _exit(code);
      }) {}

LastExit::~LastExit() {
  thread_.request_stop();
  pthread_kill(thread_.native_handle(), SIGHUP);  // wakes the thread from Signals::Wait
}

void NotifySocket::Reloading() const {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  Send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", now.tv_sec * 1'000'000 + now.tv_nsec / 1'000));
}

void NotifySocket::Alive() const { Send("WATCHDOG=1", MSG_DONTWAIT); }

void NotifySocket::Send(std::string_view message, int flags) const {
  sockaddr_un address{};
  if (address_.empty() || address_.size() >= sizeof(address.sun_path)) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, address_.data(), address_.size());
  if (address_.front() == '@') address.sun_path[0] = '\0';
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  // An error is ignored. If READY=1 is lost, systemd's start timeout ends the process.
  (void)sendto(fd, message.data(), message.size(), MSG_NOSIGNAL | flags,
               reinterpret_cast<const sockaddr*>(&address), length);
  close(fd);
}

std::optional<std::chrono::microseconds> WatchdogTimeout(std::string_view usec,
                                                         std::string_view pid) {
  // The variables may be meant for a parent process, from which this process has inherited them.
  if (!pid.empty() && Number(pid) != getpid()) return std::nullopt;
  const std::chrono::microseconds timeout(Number(usec));
  if (timeout.count() <= 0) return std::nullopt;
  return timeout;
}

void RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

Status CheckThreads(size_t needed) {
  constexpr size_t kStack = size_t{256} << 10;  // untouched pages of a stack take no memory
  std::latch end(1);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, kStack);
  std::vector<pthread_t> threads;
  int error = 0;
  while (threads.size() < needed) {
    const auto wait = [](void* until) -> void* {
      static_cast<std::latch*>(until)->wait();
      return nullptr;
    };
    pthread_t thread;
    error = pthread_create(&thread, &small, wait, &end);
    if (error != 0) break;
    threads.push_back(thread);
  }
  end.count_down();
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  pthread_attr_destroy(&small);
  if (error == 0) return Ok{};
  return Error{ErrorCode::kUnavailable,
               fmt::format("can start {} of the {} threads and processes that it needs ({}): raise "
                           "the limit of this user's processes (ulimit -u; TasksMax and LimitNPROC "
                           "of a unit; pids.max of a container), or lower --jobs",
                           threads.size(), needed, strerror(error))};
}

size_t ThreadsFor(size_t slots) {
  // The number of the daemon's own threads and of two processes of a compile, counted under load.
  // gRPC starts another thread for each processor.
  constexpr size_t kOwn = 34;
  const size_t of_grpc = std::clamp(std::thread::hardware_concurrency(), 4u, 16u);
  return kOwn + of_grpc + slots;
}

}  // namespace cccl_cache::daemon
