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

#include "daemon/core/file_descriptor.h"
#include "daemon/core/result.h"
#include "daemon/service/frame_rules.h"

namespace cccl_cached {

/// One connection whose bytes are judged before gRPC sees them. Thread-safe.
class GuardedSocket {
 public:
  /// `cookie`: the kernel's number of the socket, which is never used again.
  GuardedSocket(uint64_t cookie, std::shared_ptr<Cancellations> of_user)
      : cookie_(cookie), rules_(std::move(of_user), FrameRules::Clock::now()) {}

  [[nodiscard]] uint64_t cookie() const { return cookie_; }
  /// Judges what was received. Returns the rule that it breaks, or null.
  [[nodiscard]] const char* Judge(const msghdr& message, size_t received);
  /// The client broke this rule, and its connection ends.
  void CutOff(const char* rule) { broken_ = rule; }
  /// The rule that the client broke; null if none.
  [[nodiscard]] const char* broken() const { return broken_; }

 private:
  const uint64_t cookie_;
  std::mutex mutex_;
  FrameRules rules_;  // guarded by mutex_
  std::atomic<const char*> broken_ = nullptr;
};

/// From now on what this process receives of the socket by recvmsg is judged by FrameRules; a
/// client that breaks one is cut off: the receive fails with ECONNRESET. To be called before the
/// first byte is read. gRPC has no hook before its parser, so this library defines the process'
/// recvmsg, which libgrpc calls (docs/decisions/0028); the table behind it is the process' too.
[[nodiscard]] std::shared_ptr<const GuardedSocket> GuardSocket(
    int fd, std::shared_ptr<Cancellations> of_user);

/// Has `serve` serve a guarded socket, sends it an overlong header block, and fails unless the
/// connection is cut off for it in time: for a gRPC that does not receive by recvmsg.
[[nodiscard]] Status CheckThatSocketsAreGuarded(const std::function<void(FileDescriptor)>& serve,
                                                std::chrono::milliseconds timeout);

}  // namespace cccl_cached
