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

/// One received message. `end`: the peer has closed its side, and there is no message.
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
//     question = name         asks for the file               (bytes of the packet, no NUL)
//              | "/" name     announces a look-up in the toolchain (JobFiles::LookInToolchain)
//     answer   = kind:u8 identity:u64 size:u64 contents       (little-endian)
// The answer to an announcement, sent once it is recorded, is a directory of identity 1. The
// contents are the file's first bytes, as many as fit. The rest follows in packets that hold only
// contents; all but the last are full.

/// Limits of one job, far above the needs of any compile.
inline constexpr uint64_t kMaxFileQuestions = 200'000;
inline constexpr uint64_t kMaxHandedOverBytes = 1ull << 30;

inline constexpr size_t kFileAnswerHeaderBytes = 17;

/// The header of an answer.
struct FileAnswerHeader {
  FileKind kind = FileKind::kAbsent;
  uint64_t identity = 0;  ///< 0 if and only if there is no such file
  uint64_t size = 0;      ///< bytes of the contents; 0 unless a file

  bool operator==(const FileAnswerHeader&) const = default;
};

/// Returns whether a worker can ask for this name: absolute, shorter than PATH_MAX, no NUL, no "."
/// and "//", and no slash at its end. ".." is allowed.
[[nodiscard]] bool IsFileQuestion(std::string_view name);

struct FileQuestion {
  std::string_view name;
  bool announces_look = false;
};
/// Returns the question in a packet; the name is a view into it. kWorkerCrashed: malformed, so the
/// worker is broken or was taken over.
[[nodiscard]] Result<FileQuestion> DecodeFileQuestion(std::string_view packet);
[[nodiscard]] std::string EncodeAnnouncement(std::string_view name);

[[nodiscard]] std::string EncodeFileAnswerHeader(const FileAnswerHeader& header);

/// The first packet of an answer.
struct FileAnswerStart {
  FileAnswerHeader header;
  std::string_view contents;  ///< a view into the packet: the file's first bytes
};
/// Returns the first packet of an answer. kUnavailable: malformed.
[[nodiscard]] Result<FileAnswerStart> DecodeFileAnswer(std::string_view packet);

/// Return the number of content bytes in the first packet of an answer, or in a following one, if
/// `left` bytes are left.
[[nodiscard]] size_t BytesInFirstPacket(uint64_t left);
[[nodiscard]] size_t BytesInNextPacket(uint64_t left);

}  // namespace cccl_cache::daemon
