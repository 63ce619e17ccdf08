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
#include <mutex>
#include <utility>

#include "base/file_descriptor.h"
#include "daemon/core/model/result.h"
#include "daemon/service/transport/frame_rules.h"

namespace cccl_cache::daemon {

/// One connection whose bytes are judged before gRPC sees them. Thread-safe.
class GuardedSocket {
 public:
  /// `cookie`: the kernel's number of the socket, which is never used again.
  GuardedSocket(uint64_t cookie, std::shared_ptr<UserTraffic> of_user)
      : cookie_(cookie), rules_(std::move(of_user), FrameRules::Clock::now()) {}

  [[nodiscard]] uint64_t cookie() const { return cookie_; }
  /// Judges so many bytes that were received. Returns the rule that they break, or null.
  [[nodiscard]] const FrameRule* Received(const msghdr& message, size_t bytes);
  /// So many bytes of it were sent.
  void Sent(const msghdr& message, size_t bytes);
  /// The connection is over: its calls don't count any more.
  void End();
  /// Whether anything was sent.
  [[nodiscard]] bool has_sent() const { return has_sent_; }
  /// The client broke this rule, and its connection ends.
  void CutOff(const FrameRule* rule) { broken_ = rule; }
  /// The rule that the client broke; null if none.
  [[nodiscard]] const FrameRule* broken() const { return broken_; }

 private:
  const uint64_t cookie_;
  std::mutex mutex_;
  FrameRules rules_;  // guarded by mutex_
  std::atomic<const FrameRule*> broken_ = nullptr;
  std::atomic<bool> has_sent_ = false;
};

/// From now on what this process receives by recvmsg, and sends by sendmsg, over the socket is
/// judged by FrameRules; a client that breaks one is cut off: the receive fails with ECONNRESET. To
/// be called before the first byte is read. gRPC has no hook before its parser, so this library
/// defines the process' two functions, which libgrpc calls (docs/internals/decisions/0028); the
/// table behind them is the process' too. Who calls this calls End when the connection is over.
[[nodiscard]] std::shared_ptr<GuardedSocket> GuardSocket(int fd,
                                                         std::shared_ptr<UserTraffic> of_user);

/// Has `serve` serve a guarded socket, sends it an overlong header block, and fails unless the
/// server's first bytes are seen and the connection is cut off for the block in time: for a gRPC
/// that does not receive by recvmsg, or does not send by sendmsg.
[[nodiscard]] Status CheckThatSocketsAreGuarded(const std::function<void(FileDescriptor)>& serve,
                                                std::chrono::milliseconds timeout);

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
