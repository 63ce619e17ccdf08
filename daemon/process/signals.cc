// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/signals.h"

#include <time.h>

namespace cccl_cache::daemon {

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

}  // namespace cccl_cache::daemon
