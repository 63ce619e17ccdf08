// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <ctime>

namespace cccl_cache::daemon {

/// While it lasts, what a thread waits for in the kernel is interrupted again and again. For
/// threads that close clients' sockets, or receive from them: with a socket go the descriptors that
/// a client sent along (SCM_RIGHTS), and the end of a TCP socket that lingers (SO_LINGER) takes as
/// long as the client says, unless a signal comes. The first one installs a handler that does
/// nothing for SIGRTMAX - 1. Where a timer can't be had, nothing is interrupted.
class InterruptedWaits {
 public:
  /// `thread`: the kernel's number of a thread of this process that outlives the object.
  InterruptedWaits(pid_t thread, std::chrono::milliseconds interval);
  ~InterruptedWaits();
  InterruptedWaits(const InterruptedWaits&) = delete;
  InterruptedWaits& operator=(const InterruptedWaits&) = delete;

 private:
  timer_t timer_{};
  bool made_ = false;
};

}  // namespace cccl_cache::daemon
