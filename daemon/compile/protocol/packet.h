// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/file_descriptor.h"
#include "daemon/core/model/requester_files.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// Bounds of one message on a SOCK_SEQPACKET socket.
inline constexpr size_t kMaxPacketBytes = 64 * 1024;
inline constexpr size_t kMaxPacketFds = 5;

/// One message as it was received. `end`: the peer has closed its side, and there is no message.
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

// A worker asks its daemon about file names on the files socket of its job (SOCK_SEQPACKET), one
// question at a time:
//   question = name         asks what lies there          (bytes of the packet, no NUL)
//            | "/" name     announces a look into the toolchain (JobFiles::LookInToolchain)
//   answer   = kind:u8 identity:u64 size:u64 contents      (little-endian)
// An announcement is answered with a directory of identity 1 once it is on record.
// The contents are the file's bytes, as many as fit into the packet. The rest follows in packets
// that hold nothing else, each as full as can be.

/// Bounds of one job: far more than any compile needs.
inline constexpr uint64_t kMaxFileQuestions = 200'000;
inline constexpr uint64_t kMaxHandedOverBytes = 1ull << 30;

inline constexpr size_t kFileAnswerHeaderBytes = 17;

/// The header of an answer.
struct FileAnswerHeader {
  FileKind kind = FileKind::kAbsent;
  uint64_t identity = 0;  ///< 0 if and only if nothing is there
  uint64_t size = 0;      ///< bytes of the contents; 0 unless a file

  bool operator==(const FileAnswerHeader&) const = default;
};

/// Returns whether a worker can ask for this name: absolute, shorter than PATH_MAX, no NUL, no "."
/// and "//", and no slash at its end. ".." stands as the compiler wrote it.
[[nodiscard]] bool IsFileQuestion(std::string_view name);

struct FileQuestion {
  std::string_view name;
  bool announces_look = false;
};
/// Returns the question in a packet; the name is a view into it. Error kWorkerCrashed: the daemon's
/// own worker does not ask that.
[[nodiscard]] Result<FileQuestion> DecodeFileQuestion(std::string_view packet);
[[nodiscard]] std::string EncodeAnnouncement(std::string_view name);

[[nodiscard]] std::string EncodeFileAnswerHeader(const FileAnswerHeader& header);

/// The first packet of an answer.
struct FileAnswerStart {
  FileAnswerHeader header;
  std::string_view contents;  ///< a view into the packet: the file's first bytes
};
/// Returns the first packet of an answer. Error kUnavailable: a daemon does not send this.
[[nodiscard]] Result<FileAnswerStart> DecodeFileAnswer(std::string_view packet);

/// Returns how many bytes of contents the first packet of an answer holds, or a following one, if
/// `left` bytes are left.
[[nodiscard]] size_t BytesInFirstPacket(uint64_t left);
[[nodiscard]] size_t BytesInNextPacket(uint64_t left);

}  // namespace cccl_cache::daemon
