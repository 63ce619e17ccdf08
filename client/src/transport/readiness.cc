// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/transport/readiness.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace cccl_cache {
namespace {

bool SetEvents(int epoll, int operation, int descriptor, uint32_t events) {
  epoll_event event = {};
  event.events = events;
  return epoll_ctl(epoll, operation, descriptor, &event) == 0;
}

}  // namespace

Expected<Readiness> Readiness::Make() {
  FileDescriptor epoll = AboveStandardStreams(FileDescriptor(epoll_create1(EPOLL_CLOEXEC)));
  FileDescriptor timer = AboveStandardStreams(
      FileDescriptor(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)));
  // An unconnected datagram socket. For an unconnected stream socket, or for a pipe, epoll would
  // report a hangup.
  VerifiedDescriptor marker(FileDescriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)));
  if (!epoll.valid() || !timer.valid() ||
      !SetEvents(epoll.get(), EPOLL_CTL_ADD, timer.get(), EPOLLIN) ||
      !SetEvents(epoll.get(), EPOLL_CTL_ADD, marker.Get(), 0)) {
    return Error{CCCL_CACHE_UNAVAILABLE,
                 std::string("can't make a descriptor to wait with: ") + std::strerror(errno)};
  }
  return Readiness(std::move(epoll), std::move(timer), std::move(marker));
}

bool Readiness::OwnsSet() const {
  const int marker = marker_.Get();
  return marker >= 0 && SetEvents(epoll_.get(), EPOLL_CTL_MOD, marker, 0);
}

bool Readiness::OwnsTimer() const {
  return OwnsSet() && SetEvents(epoll_.get(), EPOLL_CTL_MOD, timer_.get(), EPOLLIN);
}

void Readiness::LeaveForeign() {
  const bool set = OwnsSet();
  if (!OwnsTimer()) static_cast<void>(timer_.Release());
  if (!set) static_cast<void>(epoll_.Release());
}

void Readiness::Renew() {
  LeaveForeign();
  epoll_.Close();
  timer_.Close();
  wakes_at_.reset();
  Expected<Readiness> made = Make();
  if (!made.ok()) return;
  epoll_ = std::move(made->epoll_);
  timer_ = std::move(made->timer_);
  marker_ = std::move(made->marker_);
}

void Readiness::Watch(int socket, bool writable) {
  if (socket < 0) return;
  uint32_t events = EPOLLIN;
  if (writable) events |= EPOLLOUT;
  // EPOLL_CTL_MOD fails unless the epoll set contains this socket. So it also fails if the number
  // epoll_ now belongs to an epoll set of the program.
  if (SetEvents(epoll_.get(), EPOLL_CTL_MOD, socket, events)) return;
  if (!OwnsSet()) Renew();
  SetEvents(epoll_.get(), EPOLL_CTL_ADD, socket, events);
}

void Readiness::Forget(int socket) {
  if (socket >= 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket, nullptr);
}

void Readiness::WakeAt(std::optional<Moment> moment) {
  if (moment == wakes_at_) return;
  if (!OwnsTimer()) {
    Renew();
    moment = Moment{};  // already past: the descriptor wakes the caller, who watches the sockets
                        // again
  }
  wakes_at_ = moment;
  itimerspec timer = {};
  if (moment) {
    // A value of zero would disarm the timer, so a time of zero becomes 1 ns.
    const auto since_start =
        std::max(std::chrono::nanoseconds(1), std::chrono::nanoseconds(moment->time_since_epoch()));
    timer.it_value.tv_sec = since_start.count() / 1'000'000'000;
    timer.it_value.tv_nsec = since_start.count() % 1'000'000'000;
  }
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &timer, nullptr);
}

void Readiness::Wait(const Deadline& deadline) {
  if (!OwnsTimer()) {
    Renew();
    // Without an epoll descriptor the only way to wait is a short pause, in milliseconds.
    if (!epoll_.valid()) poll(nullptr, 0, 10);
    return;
  }
  pollfd waiting = {epoll_.get(), POLLIN, 0};
  while (poll(&waiting, 1, deadline.PollTimeout()) < 0 && errno == EINTR) {
  }
}

}  // namespace cccl_cache
