// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// What a signal tells the process to do.
enum class Told { kNothing, kStop, kReload };

/// Blocks SIGTERM, SIGINT and SIGHUP, so that threads can wait for them. Make the object before the
/// first other thread starts: threads inherit the mask. Thread-safe: each signal goes to one of the
/// waiting threads.
class Signals {
 public:
  /// Also ignores SIGPIPE, so that a write to a closed connection returns an error.
  Signals();

  /// Waits for a signal, at most for `patience`. Returns kNothing if no signal arrived.
  [[nodiscard]] Told Wait(std::chrono::milliseconds patience) const;

 private:
  sigset_t set_;
};

/// Sends SIGTERM to this process, for a thread that waits in Signals::Wait.
void StopThisProcess();

/// Ends a process whose shutdown hangs, for example because a thread waits for a file system that
/// does not answer.
class LastExit {
 public:
  /// Ends the process with this exit code at the next SIGTERM or SIGINT, or after `patience`. Has
  /// no effect once the object is destroyed.
  LastExit(const Signals& signals, std::chrono::milliseconds patience, int code);
  ~LastExit();
  LastExit(const LastExit&) = delete;
  LastExit& operator=(const LastExit&) = delete;

 private:
  std::jthread thread_;
};

/// Reports the daemon's state to systemd. Each message is one datagram to the socket that the
/// variable NOTIFY_SOCKET names. Does nothing if there is no such socket. Immutable.
class NotifySocket {
 public:
  /// `address` is the value of NOTIFY_SOCKET: a path, or '@' and a name in the abstract namespace.
  explicit NotifySocket(std::string address) : address_(std::move(address)) {}

  void Ready() const { Send("READY=1"); }
  /// Reports that a reload has begun. The caller must call Ready() when the reload is done.
  void Reloading() const;
  void Stopping() const { Send("STOPPING=1"); }
  /// Reports to the watchdog that the process still works. Does not wait for systemd. A message may
  /// be lost; the next one replaces it.
  void Alive() const;

 private:
  void Send(std::string_view message, int flags = 0) const;

  const std::string address_;
};

/// Returns the watchdog's timeout: after this time without a call of Alive(), systemd restarts the
/// process. None if there is no watchdog. The arguments are the values of WATCHDOG_USEC and
/// WATCHDOG_PID.
[[nodiscard]] std::optional<std::chrono::microseconds> WatchdogTimeout(std::string_view usec,
                                                                       std::string_view pid);

/// Raises the soft limit of open descriptors to the hard limit.
void RaiseFileLimit();

/// Returns an error if this many threads can't run at once. Starts and ends that many threads,
/// because the number can be limited in several places: by a ulimit of the user, by a unit, and by
/// each container.
[[nodiscard]] Status CheckThreads(size_t needed);

/// Returns how many threads and processes a daemon with this many slots needs to serve one user.
[[nodiscard]] size_t ThreadsFor(size_t slots);

}  // namespace cccl_cache::daemon
