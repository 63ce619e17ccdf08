// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/files/file_descriptor.h"

namespace cccl_cache::daemon {

/// The process that connected to a socket. It may be gone. What was read below its directory was
/// its own if it is alive afterwards, because its number was not reused until then. Only /proc is
/// asked, which waits for no disk and no other process. Not thread-safe.
class PeerProcess {
 public:
  /// Returns the process that the kernel recorded (SO_PEERPIDFD, since Linux 6.5). None: the kernel
  /// is older, or the process is not visible in this process's /proc.
  [[nodiscard]] static std::optional<PeerProcess> Of(int socket);
  /// The same, but before Linux 6.5 it is found by its pid, which may belong to another process by
  /// now.
  [[nodiscard]] static std::optional<PeerProcess> OfSocketOrPid(int socket, pid_t pid);

  /// Returns its directory: "/proc/4711".
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] bool IsAlive() const;

 private:
  [[nodiscard]] static std::optional<PeerProcess> Of(FileDescriptor process);
  PeerProcess(FileDescriptor process, std::string directory)
      : process_(std::move(process)), directory_(std::move(directory)) {}

  FileDescriptor process_;
  std::string directory_;
};

}  // namespace cccl_cache::daemon
