// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <utility>

#include "base/files/file_descriptor.h"
#include "base/mutex.h"
#include "daemon/core/model/result.h"
#include "daemon/service/transport/frame_rules.h"

namespace cccl_cache::daemon {

/// One connection whose bytes are checked before gRPC sees them. Thread-safe.
class GuardedSocket {
 public:
  /// `fd` is the server's descriptor. `cookie` is the kernel's number of the socket, which is never
  /// reused.
  GuardedSocket(int fd, uint64_t cookie, std::shared_ptr<UserTraffic> of_user)
      : fd_(fd), cookie_(cookie), rules_(std::move(of_user), FrameRules::Clock::now()) {}

  [[nodiscard]] uint64_t cookie() const { return cookie_; }
  /// Checks the next `bytes` received bytes. Returns the rule that they break, or null.
  [[nodiscard]] const FrameRule* Received(const msghdr& message, size_t bytes);
  /// Records that the first `bytes` bytes of the message were sent.
  void Sent(const msghdr& message, size_t bytes);
  /// Ends the connection: its calls count until ReleaseIfClosed returns true.
  void End();
  /// Returns whether the descriptor was closed. gRPC closes it after it has freed all calls of the
  /// connection, so that they no longer count.
  [[nodiscard]] bool ReleaseIfClosed();
  /// Returns whether anything was sent.
  [[nodiscard]] bool has_sent() const { return has_sent_; }
  /// Records the rule that the client broke. Its connection ends.
  void CutOff(const FrameRule* rule) { broken_ = rule; }
  /// Returns the rule that the client broke, or null if none.
  [[nodiscard]] const FrameRule* broken() const { return broken_; }

 private:
  const int fd_;  ///< the server's descriptor, which may be another file now
  const uint64_t cookie_;
  Mutex mutex_;
  FrameRules rules_ GUARDED_BY(mutex_);
  std::atomic<const FrameRule*> broken_ = nullptr;
  std::atomic<bool> has_sent_ = false;
};

/// Makes FrameRules check all bytes that the process receives from this socket by recvmsg and sends
/// by sendmsg. A client that breaks a rule is cut off: the receive fails with ECONNRESET. Must be
/// called before the first byte is read. gRPC has no hook before its parser, so this library
/// defines the two functions for the whole process, and libgrpc calls them
/// (docs/internals/decisions/0028). The table of sockets also belongs to the process. The caller
/// must call End after the connection has ended.
[[nodiscard]] std::shared_ptr<GuardedSocket> GuardSocket(int fd,
                                                         std::shared_ptr<UserTraffic> of_user);

/// Calls `serve` with a guarded socket and sends it an overlong header block. Fails unless the
/// server's first bytes are seen and the connection is cut off in time. It thus fails for a gRPC
/// that does not receive by recvmsg or send by sendmsg.
[[nodiscard]] Status CheckThatSocketsAreGuarded(const std::function<void(FileDescriptor)>& serve,
                                                std::chrono::milliseconds timeout);

/// While an object exists, the thread's waits in the kernel are interrupted repeatedly. For threads
/// that close clients' sockets or receive from them. Closing a socket also closes the descriptors
/// that a client has sent (SCM_RIGHTS). The close of a TCP socket that lingers (SO_LINGER) takes as
/// long as the client wants, unless a signal arrives. The first object installs a handler for
/// SIGRTMAX - 1 that does nothing. Without a timer nothing is interrupted.
class InterruptedWaits {
 public:
  /// `thread` is the kernel's id of a thread of this process that outlives the object.
  InterruptedWaits(pid_t thread, std::chrono::milliseconds interval);
  ~InterruptedWaits();
  InterruptedWaits(const InterruptedWaits&) = delete;
  InterruptedWaits& operator=(const InterruptedWaits&) = delete;

 private:
  timer_t timer_{};
  bool made_ = false;
};

}  // namespace cccl_cache::daemon
