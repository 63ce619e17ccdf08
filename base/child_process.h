// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

#include "base/files/file_descriptor.h"
#include "base/files/verified_descriptor.h"
#include "base/owner_process.h"

namespace cccl_cache {

/// A child process that does not outlive this object: the destructor kills it if it still runs, and
/// reaps it. The class works in host programs that reap all children themselves, or that close
/// descriptors which they did not open. After fork(), the destructor of the copy in the forked
/// process does not touch the child. Ended() may be called from any thread, the other functions by
/// one thread at a time.
class ChildProcess {
 public:
  /// Runs the program at `path` without arguments, in a new session. In the child, the descriptor
  /// `given` has the number `number`, which is 0 or 3, and the other standard streams are
  /// /dev/null. With glibc 2.34 or newer the child inherits no other descriptor. The last entry of
  /// `environment` is null. Returns none, with errno set, if the program can't be started.
  [[nodiscard]] static std::optional<ChildProcess> Start(const std::string& path, int given,
                                                         int number, char* const* environment);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess() {
    if (owned()) End();
  }

  /// Returns whether this process started the child.
  [[nodiscard]] bool owned() const { return owner_.IsThis(); }
  /// Returns 0 once the child was reaped.
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Returns whether the child has ended, or was reaped. Does not reap it.
  [[nodiscard]] bool Ended() const;
  /// Waits up to `patience` for the process to end by itself, kills it if it still runs, and reaps
  /// it. Returns how it ended: "exit status 1", "SIGKILL".
  std::string End(std::chrono::milliseconds patience = {});

 private:
  explicit ChildProcess(pid_t pid);

  pid_t pid_;  ///< 0 after the child was reaped
  const OwnerProcess owner_;
  bool gone_ = false;         ///< the host program reaped the child, so pid_ may be reused
  VerifiedDescriptor pidfd_;  ///< the child's pidfd; invalid before Linux 6.9
};

/// Returns a wait status in words: "exit status 1", "SIGSEGV".
[[nodiscard]] std::string DescribeWaitStatus(int wait_status);

/// Returns a pidfd, which refers to this process even after its pid is reused. Returns an invalid
/// descriptor, with errno set, if there is no such process.
[[nodiscard]] FileDescriptor OpenPidfd(pid_t pid);

/// Sends SIGKILL. Does nothing if the process is already dead.
void KillProcess(int pidfd);

}  // namespace cccl_cache
