// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "base/file_descriptor.h"
#include "daemon/core/model/result.h"

// These functions use system calls directly: the header of glibc 2.36 does not compile as C++.

namespace cccl_cache::daemon {

/// One child process, held by its pidfd. The destructor kills it if it still runs, and reaps it.
/// Ended() may be called from any thread, the other functions by one thread at a time.
class ChildProcess {
 public:
  /// Runs the program with an empty environment, in a session of its own, with /dev/null as its
  /// standard streams and `fd` as its descriptor 3. It inherits no other descriptor. Error
  /// kUnavailable: the program could not be run.
  static Result<ChildProcess> Start(const std::string& path, int fd);
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept = default;
  ChildProcess& operator=(ChildProcess&& other) noexcept = delete;

  /// Returns whether the process has ended by itself. Does not reap it.
  [[nodiscard]] bool Ended() const;
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Waits up to `patience` for the process to end by itself, kills it if it still runs, and reaps
  /// it. Returns how it ended: "exit status 1", "SIGKILL".
  std::string End(std::chrono::milliseconds patience);

 private:
  ChildProcess(pid_t pid, FileDescriptor pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

  pid_t pid_;
  FileDescriptor pidfd_;  ///< invalid once the process is reaped
};

/// Returns a wait status in words: "exit status 1", "SIGSEGV".
[[nodiscard]] std::string DescribeWaitStatus(int wait_status);

/// Returns a handle of a process, which never comes to mean another process. Returns an invalid
/// descriptor, with errno set, if there is no such process.
[[nodiscard]] FileDescriptor OpenPidfd(pid_t pid);

/// Sends SIGKILL. Does nothing if the process is already dead.
void KillProcess(const FileDescriptor& pidfd);

}  // namespace cccl_cache::daemon
