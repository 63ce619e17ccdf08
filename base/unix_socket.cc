// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/unix_socket.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>

namespace cccl_cache {

FileDescriptor ConnectToSocket(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    errno = ENAMETOOLONG;
    return {};
  }
  path.copy(address.sun_path, path.size());
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  if (socket.valid() && connect(socket.get(), generic, sizeof(address)) != 0) {
    const int error = errno;
    socket.Close();
    errno = error;
  }
  return socket;
}

bool IsServed(const std::string& path) {
  return ConnectToSocket(path).valid() || errno != ECONNREFUSED;
}

}  // namespace cccl_cache
