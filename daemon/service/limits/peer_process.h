// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/files/file_descriptor.h"

namespace cccl_cache::daemon {

/// The process that connected to a socket. It may be gone. If it is alive after a read below its
/// directory, the read was of this process, because its number was not reused before. Reads only
/// /proc, which waits for no disk and no other process. Not thread-safe.
class PeerProcess {
 public:
  /// Returns the process that the kernel recorded (SO_PEERPIDFD, since Linux 6.5). None if the
  /// kernel is older, or if this process's /proc does not show the process.
  [[nodiscard]] static std::optional<PeerProcess> Of(int socket);
  /// As Of, but before Linux 6.5 finds the process by its pid, which another process may have by
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
