// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/poll.h"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>

namespace cccl_cache {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds kMoment{100};
/// Limits the backoff: after many polls without a result, one of 2^6 calls still polls.
constexpr unsigned kMaxInVain = 6;

bool IsReadable(int socket) {
  pollfd entry{socket, POLLIN, 0};
  return poll(&entry, 1, 0) > 0;
}

}  // namespace

bool Glance::SeesReadable(int socket) {
  if (left_out_ > 0) {
    --left_out_;
    return false;
  }
  const Clock::time_point end = Clock::now() + kMoment;
  do {
    if (IsReadable(socket)) {
      in_vain_ = 0;
      return true;
    }
    sched_yield();  // lets the daemon run if it shares this processor
  } while (Clock::now() < end);
  in_vain_ = std::min(in_vain_ + 1, kMaxInVain);
  left_out_ = (1u << in_vain_) - 1;
  return false;
}

bool WaitReadable(int fd, std::chrono::milliseconds patience) {
  const Clock::time_point end = Clock::now() + patience;
  pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
  int ready;
  do {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    ready = poll(&entry, 1, static_cast<int>(std::clamp<int64_t>(left, 0, INT32_MAX)));
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

StopEvent::StopEvent(std::stop_token stop)
    : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      callback_(std::move(stop), Signal{event_.get()}) {}

void StopEvent::Signal::operator()() const { eventfd_write(fd, 1); }

}  // namespace cccl_cache
