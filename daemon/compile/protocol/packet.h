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

/// One received message. If `end` is true, the peer has closed its socket, and there is no message.
struct Packet {
  std::string bytes;
  std::vector<FileDescriptor> fds;
  bool end = false;
};

/// Sends one message with copies of the descriptors. Blocks if the socket is full and blocking.
[[nodiscard]] Status SendPacket(int socket, std::string_view bytes, std::span<const int> fds = {});

/// Receives one message. Blocks if the socket is blocking. The received descriptors are
/// close-on-exec. A message that exceeds the limits is an error, and its descriptors are closed.
[[nodiscard]] Result<Packet> ReceivePacket(int socket);

// A worker asks the daemon about file names on the files socket of its job (SOCK_SEQPACKET). It
// sends the next question only after the answer.
//     question = name         asks for the file               (bytes of the packet, no NUL)
//              | "/" name     announces that the worker will open a file of the toolchain itself
//     answer   = kind:u8 identity:u64 size:u64 contents       (little-endian)
// The daemon answers an announcement as a directory with identity 1, after
// JobFiles::LookInToolchain has recorded it. The first packet of an answer has as much of the
// file's contents as fits. The rest follows in packets without a header, of which all but the last
// are full.

/// Limits of one job: questions, and bytes of contents. No compile comes near them.
inline constexpr uint64_t kMaxFileQuestions = 200'000;
inline constexpr uint64_t kMaxHandedOverBytes = 1ull << 30;

inline constexpr size_t kFileAnswerHeaderBytes = 17;

/// The header of an answer.
struct FileAnswerHeader {
  FileKind kind = FileKind::kAbsent;
  uint64_t identity = 0;  ///< inode number for the compiler; 0 if and only if the file is absent
  uint64_t size = 0;      ///< bytes of the file's contents; 0 for a directory or an absent file

  bool operator==(const FileAnswerHeader&) const = default;
};

/// Returns whether a worker may ask for this name. It must be an absolute path, shorter than
/// PATH_MAX, without a NUL, an empty component, ".", or a slash at its end. ".." is allowed.
[[nodiscard]] bool IsFileQuestion(std::string_view name);

struct FileQuestion {
  std::string_view name;
  bool announces_look = false;
};
/// Decodes a question. The name is a view into the packet. Returns kWorkerCrashed if the packet is
/// malformed, because the worker is then broken or under the control of an attacker.
[[nodiscard]] Result<FileQuestion> DecodeFileQuestion(std::string_view packet);
[[nodiscard]] std::string EncodeAnnouncement(std::string_view name);

[[nodiscard]] std::string EncodeFileAnswerHeader(const FileAnswerHeader& header);

/// The first packet of an answer.
struct FileAnswerStart {
  FileAnswerHeader header;
  std::string_view contents;  ///< the first bytes of the file; a view into the packet
};
/// Decodes the first packet of an answer. Returns kUnavailable if it is malformed.
[[nodiscard]] Result<FileAnswerStart> DecodeFileAnswer(std::string_view packet);

/// These functions return how many bytes of contents the first packet of an answer, or a later one,
/// has if `left` bytes were not sent yet.
[[nodiscard]] size_t BytesInFirstPacket(uint64_t left);
[[nodiscard]] size_t BytesInNextPacket(uint64_t left);

}  // namespace cccl_cache::daemon
