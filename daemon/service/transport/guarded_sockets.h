// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "daemon/core/model/file_descriptor.h"
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
/// defines the process' two functions, which libgrpc calls (docs/decisions/0028); the table behind
/// them is the process' too. Who calls this calls End when the connection is over.
[[nodiscard]] std::shared_ptr<GuardedSocket> GuardSocket(int fd,
                                                         std::shared_ptr<UserTraffic> of_user);

/// Has `serve` serve a guarded socket, sends it an overlong header block, and fails unless the
/// server's first bytes are seen and the connection is cut off for the block in time: for a gRPC
/// that does not receive by recvmsg, or does not send by sendmsg.
[[nodiscard]] Status CheckThatSocketsAreGuarded(const std::function<void(FileDescriptor)>& serve,
                                                std::chrono::milliseconds timeout);

}  // namespace cccl_cache::daemon
