// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/transport/interrupted_waits.h"

#include <csignal>
#include <mutex>

// Not every C library's header names this field.
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace cccl_cache::daemon {
namespace {

int InterruptSignal() { return SIGRTMAX - 1; }

/// Without SA_RESTART: what waits returns.
void InstallHandler() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    sigaction(InterruptSignal(), &action, nullptr);
  });
}

}  // namespace

InterruptedWaits::InterruptedWaits(pid_t thread, std::chrono::milliseconds interval) {
  InstallHandler();
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = InterruptSignal();
  event.sigev_notify_thread_id = thread;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer_) != 0) return;
  made_ = true;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(interval);
  const timespec each{.tv_sec = seconds.count(),
                      .tv_nsec = std::chrono::nanoseconds(interval - seconds).count()};
  const itimerspec again{.it_interval = each, .it_value = each};
  timer_settime(timer_, 0, &again, nullptr);
}

InterruptedWaits::~InterruptedWaits() {
  if (made_) timer_delete(timer_);
}

}  // namespace cccl_cache::daemon
