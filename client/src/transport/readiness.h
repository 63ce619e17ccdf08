// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

#include "base/file_descriptor.h"
#include "cccl_cache/expected.h"
#include "client/src/transport/timing.h"

namespace cccl_cache {

/// One descriptor that is readable when something can be done: when one of the watched sockets is
/// ready, or a moment has come. For poll(2) and the like of the program; a forked child may only
/// close it. Not thread-safe.
class Readiness {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  static Expected<Readiness> Make();

  [[nodiscard]] int fd() const { return epoll_.get(); }
  /// Watches the socket for reading; `writable`: for writing too.
  void Watch(int socket, bool writable);
  /// Stops watching the socket. Call it before the socket is closed.
  void Forget(int socket);
  /// Makes the descriptor readable from that moment on; none: never.
  void WakeAt(std::optional<Moment> moment);
  /// Returns at the deadline at the latest.
  void Wait(const Deadline& deadline) const;

 private:
  Readiness(FileDescriptor epoll, FileDescriptor timer)
      : epoll_(std::move(epoll)), timer_(std::move(timer)) {}

  FileDescriptor epoll_;
  FileDescriptor timer_;
  std::optional<Moment> wakes_at_;
};

}  // namespace cccl_cache
