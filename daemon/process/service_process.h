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

/// An order that the daemon gets by a signal.
enum class Told { kNothing, kStop, kReload };

/// Blocks SIGTERM, SIGINT and SIGHUP, so that one thread can wait for them. Make the object before
/// the first other thread starts: threads inherit the mask. Thread-safe: a signal comes to one of
/// those that wait.
class Signals {
 public:
  /// Also ignores SIGPIPE: a peer that goes away is an error of the write.
  Signals();

  /// Waits for a signal, at most for `patience`.
  [[nodiscard]] Told Wait(std::chrono::milliseconds patience) const;

 private:
  sigset_t set_;
};

/// Ends a process that stops but does not end: a thread of it may wait for a file system that
/// hangs.
class LastExit {
 public:
  /// Ends the process with this exit code at the next order to stop, or when `patience` has passed,
  /// if this object still lives then.
  LastExit(const Signals& signals, std::chrono::milliseconds patience, int code);
  ~LastExit();
  LastExit(const LastExit&) = delete;
  LastExit& operator=(const LastExit&) = delete;

 private:
  std::jthread thread_;
};

/// Reports the daemon's state to systemd: one datagram per message to the socket that systemd
/// named. Does nothing without one. Immutable.
class NotifySocket {
 public:
  /// `address` is the value of NOTIFY_SOCKET: a path, or '@' and a name in the abstract namespace.
  explicit NotifySocket(std::string address) : address_(std::move(address)) {}

  void Ready() const { Send("READY=1"); }
  /// Call Ready when the reload is done.
  void Reloading() const;
  void Stopping() const { Send("STOPPING=1"); }
  /// For the watchdog. Does not wait for systemd: the next message will do.
  void Alive() const;

 private:
  void Send(std::string_view message, int flags = 0) const;

  const std::string address_;
};

/// Returns how long systemd lets this process be silent before it is restarted, or null if that is
/// not watched. The arguments are the values of WATCHDOG_USEC and WATCHDOG_PID.
[[nodiscard]] std::optional<std::chrono::microseconds> WatchdogTimeout(std::string_view usec,
                                                                       std::string_view pid);

/// Raises the limit of open descriptors of this process as far as it is allowed to.
void RaiseFileLimit();

/// Starts so many threads at once, and ends them. Limits of processes count threads, too, and there
/// is none that can be asked: ulimits of the user, of a unit, and of each container around it.
[[nodiscard]] Status CheckThreads(size_t needed);

/// Returns how many threads and processes a daemon with so many slots needs to serve one user.
[[nodiscard]] size_t ThreadsFor(size_t slots);

}  // namespace cccl_cache::daemon
