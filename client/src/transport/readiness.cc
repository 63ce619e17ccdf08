// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/transport/readiness.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace cccl_cache {

Expected<Readiness> Readiness::Make() {
  FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  FileDescriptor timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  epoll_event event = {};
  event.events = EPOLLIN;
  if (!epoll.valid() || !timer.valid() ||
      epoll_ctl(epoll.get(), EPOLL_CTL_ADD, timer.get(), &event) != 0) {
    return Error{CCCL_CACHE_UNAVAILABLE,
                 std::string("can't make a descriptor to wait with: ") + std::strerror(errno)};
  }
  return Readiness(std::move(epoll), std::move(timer));
}

void Readiness::Watch(int socket, bool writable) {
  epoll_event event = {};
  event.events = EPOLLIN;
  if (writable) event.events |= EPOLLOUT;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, socket, &event) != 0) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket, &event);
  }
}

void Readiness::Forget(int socket) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket, nullptr); }

void Readiness::WakeAt(std::optional<Moment> moment) {
  if (moment == wakes_at_) return;
  wakes_at_ = moment;
  itimerspec timer = {};
  if (moment) {
    // Zero would turn the timer off.
    const auto since_start =
        std::max(std::chrono::nanoseconds(1), std::chrono::nanoseconds(moment->time_since_epoch()));
    timer.it_value.tv_sec = since_start.count() / 1'000'000'000;
    timer.it_value.tv_nsec = since_start.count() % 1'000'000'000;
  }
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &timer, nullptr);
}

void Readiness::Wait(const Deadline& deadline) const {
  pollfd waiting = {epoll_.get(), POLLIN, 0};
  while (poll(&waiting, 1, deadline.PollTimeout()) < 0 && errno == EINTR) {
  }
}

}  // namespace cccl_cache
