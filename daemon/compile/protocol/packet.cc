// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/protocol/packet.h"

#include <limits.h>
#include <sys/socket.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

#include "base/codec.h"

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

/// Returns whether no component of the path is empty or ".". `path` is the part after the first
/// slash.
bool ComponentsAreNames(std::string_view path) {
  for (;;) {
    const size_t slash = path.find('/');
    const std::string_view component = path.substr(0, slash);
    if (component.empty() || component == ".") return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

bool Possible(const FileAnswerHeader& header) {
  if ((header.identity == 0) != (header.kind == FileKind::kAbsent)) return false;
  if (header.kind != FileKind::kFile && header.size != 0) return false;
  return header.size <= kMaxHandedOverBytes;
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

bool IsFileQuestion(std::string_view name) {
  if (!name.starts_with('/') || name.size() >= PATH_MAX) return false;
  if (name.find('\0') != std::string_view::npos) return false;
  return name == "/" || ComponentsAreNames(name.substr(1));
}

Result<FileQuestion> DecodeFileQuestion(std::string_view packet) {
  if (IsFileQuestion(packet)) return FileQuestion{packet};
  if (packet.starts_with('/') && IsFileQuestion(packet.substr(1))) {
    return FileQuestion{packet.substr(1), true};
  }
  return Error{ErrorCode::kWorkerCrashed, "the worker asked for a file in no way that it may"};
}

std::string EncodeAnnouncement(std::string_view name) { return std::string("/").append(name); }

std::string EncodeFileAnswerHeader(const FileAnswerHeader& header) {
  return ByteWriter().Put(header.kind).Put(header.identity).Put(header.size).Joined();
}

Result<FileAnswerStart> DecodeFileAnswer(std::string_view packet) {
  const size_t header_bytes = std::min(packet.size(), kFileAnswerHeaderBytes);
  ByteReader reader(packet.substr(0, header_bytes));
  FileAnswerStart start;
  start.header = {.kind = reader.TakeEnum(FileKind::kAbsent, FileKind::kDirectory),
                  .identity = reader.Take<uint64_t>(),
                  .size = reader.Take<uint64_t>()};
  start.contents = packet.substr(header_bytes);
  if (!reader.complete() || !Possible(start.header) ||
      start.contents.size() != BytesInFirstPacket(start.header.size)) {
    return Error{ErrorCode::kUnavailable, "malformed answer about a file"};
  }
  return start;
}

size_t BytesInFirstPacket(uint64_t left) {
  return std::min<uint64_t>(left, kMaxPacketBytes - kFileAnswerHeaderBytes);
}

size_t BytesInNextPacket(uint64_t left) { return std::min<uint64_t>(left, kMaxPacketBytes); }

}  // namespace cccl_cache::daemon
