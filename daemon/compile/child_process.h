// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "base/file_descriptor.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// One child process, known by its pidfd: killed if need be and reaped when the object goes.
/// Ended() may be called from any thread; the rest by one at a time.
class ChildProcess {
 public:
  /// Runs the program with an empty environment, a session of its own, /dev/null as its standard
  /// streams, `fd` as its descriptor 3, and no other. kUnavailable: it could not be run.
  static Result<ChildProcess> Start(const std::string& path, int fd);
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept = default;
  ChildProcess& operator=(ChildProcess&& other) noexcept = delete;

  /// Whether it has ended by itself; does not reap.
  [[nodiscard]] bool Ended() const;
  /// Waits so long for it to end by itself, kills it if it did not, and reaps it. How it ended:
  /// "exit status 1", "SIGKILL".
  std::string End(std::chrono::milliseconds patience);

 private:
  explicit ChildProcess(FileDescriptor pidfd) : pidfd_(std::move(pidfd)) {}

  FileDescriptor pidfd_;  ///< invalid: reaped
};

/// "exit status 1", "SIGSEGV": what a wait status says.
[[nodiscard]] std::string DescribeWaitStatus(int wait_status);

}  // namespace cccl_cache::daemon
