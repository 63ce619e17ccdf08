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

/// A descriptor that becomes readable when a watched socket is ready or a set time has come. The
/// calling program may wait for it with poll(2) or a similar call. A forked child may only close
/// it. A program may close descriptors that it did not open, and then get the same numbers for its
/// own files. This class detects that, opens new descriptors and leaves the program's files alone.
/// Not thread-safe.
class Readiness {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  static Expected<Readiness> Make();

  Readiness(Readiness&&) = default;
  Readiness& operator=(Readiness&&) = delete;
  ~Readiness() { LeaveForeign(); }

  /// Returns the descriptor, or -1 if its number now belongs to a file of the program.
  [[nodiscard]] int fd() const { return OwnsSet() ? epoll_.get() : -1; }
  /// Watches the socket for reading and, if `writable`, also for writing. Does nothing for socket
  /// -1.
  void Watch(int socket, bool writable);
  /// Stops watching the socket. The caller must do so before it closes the socket. Does nothing for
  /// socket -1.
  void Forget(int socket);
  /// Makes the descriptor readable from `moment` on. Without a moment, the time never makes it
  /// readable.
  void WakeAt(std::optional<Moment> moment);
  /// Waits until a watched socket is ready, the set time has come, or the deadline has passed. May
  /// return early after descriptors were replaced, so the caller must watch all sockets again.
  void Wait(const Deadline& deadline);

 private:
  Readiness(FileDescriptor epoll, FileDescriptor timer, VerifiedDescriptor marker)
      : epoll_(std::move(epoll)), timer_(std::move(timer)), marker_(std::move(marker)) {}

  [[nodiscard]] bool OwnsSet() const;
  [[nodiscard]] bool OwnsTimer() const;
  /// Releases, without closing them, the descriptors whose numbers now belong to files of the
  /// program.
  void LeaveForeign();
  /// Opens new descriptors in place of all old ones. The caller must watch the sockets again.
  void Renew();

  // The inode number can't identify this object's epoll set, because all epoll sets and timers
  // share one inode. Instead the set is identified by its members: only this set contains the
  // marker (a socket on which no events occur) and the timer.
  FileDescriptor epoll_;
  FileDescriptor timer_;
  VerifiedDescriptor marker_;
  std::optional<Moment> wakes_at_;
};

}  // namespace cccl_cache
