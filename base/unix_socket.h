// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/files/file_descriptor.h"

namespace cccl_cache {

/// Returns a nonblocking descriptor that is connected to the Unix socket at `path`. Does not wait
/// until the listener accepts. On failure returns none, and sets errno: ENAMETOOLONG if the path is
/// longer than the address of a socket can be, else that of socket() or connect().
[[nodiscard]] FileDescriptor ConnectToSocket(const std::string& path);

/// Returns whether a process may listen on the Unix socket at `path`: the kernel does not refuse
/// the connection. A process that was killed leaves a socket on which none listens.
[[nodiscard]] bool IsServed(const std::string& path);

}  // namespace cccl_cache
