// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdlib>
#include <string>

#include "base/files/file_descriptor.h"

/// A Unix socket that listens but never accepts. The destructor does not remove its file.
class ListeningSocket {
 public:
  explicit ListeningSocket(const std::string& path)
      : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    if (bind(socket_.get(), generic, sizeof(address)) != 0 || listen(socket_.get(), 8) != 0) {
      std::abort();
    }
  }

 private:
  const cccl_cache::FileDescriptor socket_;
};
