// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

#include "base/files/file_descriptor.h"
#include "base/files/verified_descriptor.h"
#include "cccl_cache/expected.h"
#include "client/src/transport/timing.h"

namespace cccl_cache {

/// One descriptor that is readable when progress is possible: a watched socket is ready, or a set
/// time has come. The program uses it in poll(2) and similar calls; a forked child may only close
/// it. If the program reused the numbers of its descriptors, the object opens new descriptors and
/// does not touch the program's. Not thread-safe.
class Readiness {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  static Expected<Readiness> Make();

  Readiness(Readiness&&) = default;
  Readiness& operator=(Readiness&&) = delete;
  ~Readiness() { LeaveForeign(); }

  /// Returns -1 if the program took the number.
  [[nodiscard]] int fd() const { return OwnsSet() ? epoll_.get() : -1; }
  /// Watches the socket for reading and, with `writable`, for writing. -1: does nothing.
  void Watch(int socket, bool writable);
  /// Stops watching the socket. Must be called before the socket is closed. -1: does nothing.
  void Forget(int socket);
  /// Makes the descriptor readable from that time on. None: never.
  void WakeAt(std::optional<Moment> moment);
  /// Waits until the deadline at most. May return early, so the caller must watch all sockets
  /// again.
  void Wait(const Deadline& deadline);

 private:
  Readiness(FileDescriptor epoll, FileDescriptor timer, VerifiedDescriptor marker)
      : epoll_(std::move(epoll)), timer_(std::move(timer)), marker_(std::move(marker)) {}

  [[nodiscard]] bool OwnsSet() const;
  [[nodiscard]] bool OwnsTimer() const;
  /// Gives up the descriptors whose numbers the program took, without closing them.
  void LeaveForeign();
  /// Replaces all descriptors. Sockets must be watched again afterwards.
  void Renew();

  // All epoll sets and timers share one inode. Ours is recognized because only our set contains the
  // marker, a socket without events, and the timer.
  FileDescriptor epoll_;
  FileDescriptor timer_;
  VerifiedDescriptor marker_;
  std::optional<Moment> wakes_at_;
};

}  // namespace cccl_cache
