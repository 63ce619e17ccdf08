// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace cccl_cache::daemon {

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

}  // namespace cccl_cache::daemon
