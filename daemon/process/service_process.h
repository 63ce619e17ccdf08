// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <csignal>
#include <string>
#include <string_view>

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

/// Tells systemd how the daemon is doing: one datagram per message to the socket that systemd
/// named. Does nothing where there is none. Immutable.
class NotifySocket {
 public:
  /// `address`: the value of NOTIFY_SOCKET: a path, or a name in the abstract namespace after '@'.
  explicit NotifySocket(std::string address) : address_(std::move(address)) {}

  void Ready() const { Send("READY=1"); }
  /// Followed by Ready when it is done.
  void Reloading() const;
  void Stopping() const { Send("STOPPING=1"); }

 private:
  void Send(std::string_view message) const;

  const std::string address_;
};

/// Raises the number of descriptors that this process may open as far as it is allowed to.
void RaiseFileLimit();

}  // namespace cccl_cache::daemon
