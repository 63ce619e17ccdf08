// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/lease/lease_clock.h"

#include <optional>

namespace cccl_cache::daemon {

void LeaseClock::Wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

void LeaseClock::Run(const std::stop_token& stop) {
  const auto woken = [this] { return woken_; };
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    woken_ = false;
    lock.unlock();
    const std::optional<LeaseTable::Time> next = table_.Pass();
    lock.lock();
    if (next) {
      changed_.wait_until(lock, stop, *next, woken);
    } else {
      changed_.wait(lock, stop, woken);
    }
  }
}

}  // namespace cccl_cache::daemon
