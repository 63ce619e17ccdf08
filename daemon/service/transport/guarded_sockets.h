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

/// A connection whose bytes FrameRules checks before gRPC gets them. Thread-safe.
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
  /// Records that the connection has ended. Its calls count for the user until ReleaseIfClosed
  /// returns true.
  void End();
  /// Returns whether gRPC has closed the descriptor. gRPC does that after it has freed all calls of
  /// the connection, so they stop counting for the user then.
  [[nodiscard]] bool ReleaseIfClosed();
  /// Returns whether the server has sent any bytes.
  [[nodiscard]] bool has_sent() const { return has_sent_; }
  /// Records the rule that the client broke. The caller must end the connection.
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

/// Makes FrameRules check the bytes of this connection that the process receives by recvmsg and
/// sends by sendmsg. If the client breaks a rule, its connection is ended, and the receive fails
/// with ECONNRESET. Must be called before the first byte is read. The caller must call End after
/// the connection has ended. gRPC has no hook before its parser, so this library defines recvmsg
/// and sendmsg for the whole process, and libgrpc calls them (docs/internals/decisions/0028). The
/// table of guarded sockets belongs to the process, too.
[[nodiscard]] std::shared_ptr<GuardedSocket> GuardSocket(int fd,
                                                         std::shared_ptr<UserTraffic> of_user);

/// Checks that gRPC receives by this library's recvmsg and sends by its sendmsg. Calls `serve` with
/// one end of a guarded connection and sends an overlong header block from the other end. Fails
/// unless the check sees bytes of the server and cuts the connection off within `timeout`.
[[nodiscard]] Status CheckThatSocketsAreGuarded(const std::function<void(FileDescriptor)>& serve,
                                                std::chrono::milliseconds timeout);

/// While an object exists, a signal interrupts the system calls of one thread at a fixed interval.
/// This is for threads that receive from clients' sockets or close them. Closing a socket also
/// closes the descriptors that a client has sent (SCM_RIGHTS). If one of them is a TCP socket that
/// lingers (SO_LINGER), its close takes as long as the client wants, unless a signal arrives. The
/// first object installs a handler for SIGRTMAX - 1 that does nothing. If no timer can be made,
/// nothing is interrupted.
class InterruptedWaits {
 public:
  /// `thread` is the kernel's id of a thread of this process. The thread must outlive the object.
  InterruptedWaits(pid_t thread, std::chrono::milliseconds interval);
  ~InterruptedWaits();
  InterruptedWaits(const InterruptedWaits&) = delete;
  InterruptedWaits& operator=(const InterruptedWaits&) = delete;

 private:
  timer_t timer_{};
  bool made_ = false;
};

}  // namespace cccl_cache::daemon
