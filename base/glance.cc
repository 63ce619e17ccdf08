// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/glance.h"

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <chrono>

namespace cccl_cache {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds kMoment{100};
/// Of 2^6 waits at least one begins with a look.
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
    sched_yield();  // to the daemon, if it has to run here
  } while (Clock::now() < end);
  in_vain_ = std::min(in_vain_ + 1, kMaxInVain);
  left_out_ = (1u << in_vain_) - 1;
  return false;
}

}  // namespace cccl_cache
