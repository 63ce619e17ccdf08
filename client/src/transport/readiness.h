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

/// One descriptor that is readable when progress is possible: when a watched socket is ready, or a
/// set time has come. For the program's poll(2) and the like; a forked child may only close it. If
/// the program reused the numbers of its descriptors, it opens new ones and leaves the program's
/// alone. Not thread-safe.
class Readiness {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  static Expected<Readiness> Make();

  Readiness(Readiness&&) = default;
  Readiness& operator=(Readiness&&) = delete;
  ~Readiness() { LeaveForeign(); }

  /// Returns -1 if the program took the number.
  [[nodiscard]] int fd() const { return OwnsSet() ? epoll_.get() : -1; }
  /// Watches the socket for reading; `writable`: for writing too. -1: nothing.
  void Watch(int socket, bool writable);
  /// Stops watching the socket. Call it before the socket is closed. -1: nothing.
  void Forget(int socket);
  /// Makes the descriptor readable from that moment on; none: never.
  void WakeAt(std::optional<Moment> moment);
  /// Returns at the deadline at the latest. May return early: watch all sockets again.
  void Wait(const Deadline& deadline);

 private:
  Readiness(FileDescriptor epoll, FileDescriptor timer, VerifiedDescriptor marker)
      : epoll_(std::move(epoll)), timer_(std::move(timer)), marker_(std::move(marker)) {}

  [[nodiscard]] bool OwnsSet() const;
  [[nodiscard]] bool OwnsTimer() const;
  /// Disowns the descriptors whose numbers the program took.
  void LeaveForeign();
  /// Replaces all descriptors. Sockets have to be watched again.
  void Renew();

  // All epoll sets and timers have one inode. The kernel tells ours from the program's: only ours
  // holds the marker, a socket of which nothing is ever reported, and the timer.
  FileDescriptor epoll_;
  FileDescriptor timer_;
  VerifiedDescriptor marker_;
  std::optional<Moment> wakes_at_;
};

}  // namespace cccl_cache
