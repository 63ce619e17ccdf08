// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include "base/files/file_descriptor.h"

// Linux 6.5; Debian 12's headers don't know it.
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

namespace cccl_cache {

/// Returns the process that connected to this Unix socket, or that began to listen at its other
/// end. Invalid: see errno; before Linux 6.5 it is ENOPROTOOPT.
[[nodiscard]] inline FileDescriptor PeerPidfd(int socket) {
  int fd = -1;
  socklen_t size = sizeof(fd);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) != 0) return {};
  return FileDescriptor(fd);
}

/// Returns whether the process of a valid pidfd is alive, so that its pid was not reused.
[[nodiscard]] inline bool IsAlive(const FileDescriptor& pidfd) {
  pollfd ended{pidfd.get(), POLLIN, 0};
  return poll(&ended, 1, 0) == 0;
}

}  // namespace cccl_cache
