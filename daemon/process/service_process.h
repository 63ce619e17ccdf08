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

/// The order of a signal.
enum class Told { kNothing, kStop, kReload };

/// Blocks SIGTERM, SIGINT and SIGHUP, so that threads can wait for them. Make the object before the
/// first other thread starts: threads inherit the mask. Thread-safe: each signal goes to one of the
/// waiting threads.
class Signals {
 public:
  /// Also ignores SIGPIPE, so that a write to a closed connection returns an error.
  Signals();

  /// Waits for a signal for at most `patience`.
  [[nodiscard]] Told Wait(std::chrono::milliseconds patience) const;

 private:
  sigset_t set_;
};

/// Ends a process whose shutdown hangs, for example because a thread waits for a file system that
/// does not answer.
class LastExit {
 public:
  /// Ends the process with this exit code at the next order to stop or after `patience`, unless the
  /// object is destroyed before.
  LastExit(const Signals& signals, std::chrono::milliseconds patience, int code);
  ~LastExit();
  LastExit(const LastExit&) = delete;
  LastExit& operator=(const LastExit&) = delete;

 private:
  std::jthread thread_;
};

/// Reports the daemon's state to systemd: one datagram per message to the socket that systemd
/// named. Does nothing without a socket. Immutable.
class NotifySocket {
 public:
  /// `address` is the value of NOTIFY_SOCKET: a path, or '@' and a name in the abstract namespace.
  explicit NotifySocket(std::string address) : address_(std::move(address)) {}

  void Ready() const { Send("READY=1"); }
  /// The reload has begun; call Ready when it is done.
  void Reloading() const;
  void Stopping() const { Send("STOPPING=1"); }
  /// For the watchdog. Does not wait for systemd: a lost message is made up for by the next one.
  void Alive() const;

 private:
  void Send(std::string_view message, int flags = 0) const;

  const std::string address_;
};

/// Returns the time without a watchdog message after which systemd restarts this process, or none
/// without a watchdog. The arguments are the values of WATCHDOG_USEC and WATCHDOG_PID.
[[nodiscard]] std::optional<std::chrono::microseconds> WatchdogTimeout(std::string_view usec,
                                                                       std::string_view pid);

/// Raises the soft limit of open descriptors to the hard limit.
void RaiseFileLimit();

/// Starts this many threads at once, and ends them: the only way to find out that a limit of
/// processes is too low. There may be several: ulimits of the user, of a unit, of each container.
[[nodiscard]] Status CheckThreads(size_t needed);

/// Returns how many threads and processes a daemon with this many slots needs to serve one user.
[[nodiscard]] size_t ThreadsFor(size_t slots);

}  // namespace cccl_cache::daemon
