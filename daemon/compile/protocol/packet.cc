// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/protocol/packet.h"

#include <sys/socket.h>

#include <cassert>
#include <cerrno>
#include <cstring>

namespace cccl_cache::daemon {
namespace {

Error SystemError(const char* what) {
  return Error{ErrorCode::kUnavailable, std::string(what) + ": " + strerror(errno)};
}

std::vector<FileDescriptor> TakeDescriptors(msghdr& header) {
  std::vector<FileDescriptor> fds;
  for (cmsghdr* control = CMSG_FIRSTHDR(&header); control != nullptr;
       control = CMSG_NXTHDR(&header, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      memcpy(&fd, CMSG_DATA(control) + i * sizeof(int), sizeof(int));
      fds.emplace_back(fd);
    }
  }
  return fds;
}

}  // namespace

Status SendPacket(int socket, std::string_view bytes, std::span<const int> fds) {
  assert(bytes.size() <= kMaxPacketBytes && fds.size() <= kMaxPacketFds);
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxPacketFds * sizeof(int))] = {};
  iovec data{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  if (!fds.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size_bytes());
    memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
  }
  ssize_t sent;
  do {
    sent = sendmsg(socket, &header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return SystemError("sending a packet");
  return Ok{};
}

Result<Packet> ReceivePacket(int socket) {
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxPacketFds * sizeof(int))];
  Packet packet;
  packet.bytes.resize(kMaxPacketBytes);
  iovec data{packet.bytes.data(), packet.bytes.size()};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  ssize_t received;
  do {
    received = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  if (received < 0) return SystemError("receiving a packet");
  packet.fds = TakeDescriptors(header);
  if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    return Error{ErrorCode::kUnavailable, "receiving a packet: it is over the bounds"};
  }
  packet.bytes.resize(static_cast<size_t>(received));
  packet.end = received == 0;
  return packet;
}

}  // namespace cccl_cache::daemon
