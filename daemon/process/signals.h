// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <csignal>

namespace cccl_cache::daemon {

/// What the daemon is told from outside.
enum class Told { kNothing, kStop, kReload };

/// Takes SIGTERM, SIGINT and SIGHUP out of the normal course, so that one thread can wait for them.
/// Make it before the first other thread starts: threads inherit the mask. Used by one thread.
class Signals {
 public:
  /// Ignores SIGPIPE as well: a peer that goes away is an error of the write.
  Signals();

  /// Waits for a signal, at most this long.
  [[nodiscard]] Told Wait(std::chrono::milliseconds patience) const;

 private:
  sigset_t set_;
};

}  // namespace cccl_cache::daemon
