// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/files/file_descriptor.h"

namespace cccl_cache::daemon {

/// The process that connected to a socket. It may have ended, and another process may have got its
/// pid. To read files below directory(), read them first and call IsAlive() then: if it returns
/// true, the files were those of this process. Reads only /proc, so no function waits for a disk or
/// for another process. Not thread-safe.
class PeerProcess {
 public:
  /// Returns the process that the kernel recorded when it connected (SO_PEERPIDFD, since Linux
  /// 6.5). Returns none if the kernel is older, or if /proc does not show the process.
  [[nodiscard]] static std::optional<PeerProcess> Of(int socket);
  /// Like Of, but on kernels before Linux 6.5 returns the process that has the pid now. Another
  /// process may have got the pid since.
  [[nodiscard]] static std::optional<PeerProcess> OfSocketOrPid(int socket, pid_t pid);

  /// Returns the directory of the process in /proc: "/proc/4711".
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
