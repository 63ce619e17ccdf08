// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/model/file_descriptor.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// Bounds of one message on a SOCK_SEQPACKET socket.
inline constexpr size_t kMaxPacketBytes = 64 * 1024;
inline constexpr size_t kMaxPacketFds = 5;

/// One message as it came. `end`: the peer has closed its side, and there is no message.
struct Packet {
  std::string bytes;
  std::vector<FileDescriptor> fds;
  bool end = false;
};

/// Sends one message with descriptors attached; waits if the socket is full and blocking.
[[nodiscard]] Status SendPacket(int socket, std::string_view bytes, std::span<const int> fds = {});

/// Receives one message; waits if the socket is blocking. The descriptors are close-on-exec. A
/// message over the bounds is an error, and its descriptors are closed.
[[nodiscard]] Result<Packet> ReceivePacket(int socket);

}  // namespace cccl_cache::daemon
