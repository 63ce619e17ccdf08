// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/wait_readable.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace cccl_cache::daemon {

bool WaitReadable(int fd, std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + patience;
  pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
  int ready;
  do {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    ready = poll(&entry, 1, static_cast<int>(std::clamp<int64_t>(left, 0, INT32_MAX)));
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

}  // namespace cccl_cache::daemon
