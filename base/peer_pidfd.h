// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include "base/files/file_descriptor.h"

// From Linux 6.5; the headers of Debian 12 lack it.
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

namespace cccl_cache {

/// Returns a pidfd of the process at the other end of a Unix socket: the process that connected or,
/// on a client's socket, the process that listens. Returns an invalid descriptor, with errno set,
/// on an error: ENOPROTOOPT before Linux 6.5.
[[nodiscard]] inline FileDescriptor PeerPidfd(int socket) {
  int fd = -1;
  socklen_t size = sizeof(fd);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) != 0) return {};
  return FileDescriptor(fd);
}

/// Returns whether the process of a valid pidfd is alive. While it is, its pid can't be reused.
[[nodiscard]] inline bool IsAlive(const FileDescriptor& pidfd) {
  pollfd ended{pidfd.get(), POLLIN, 0};
  return poll(&ended, 1, 0) == 0;
}

}  // namespace cccl_cache
