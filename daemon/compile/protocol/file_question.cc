// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/protocol/file_question.h"

#include <limits.h>

#include <algorithm>

#include "daemon/compile/protocol/packet.h"
#include "daemon/compile/protocol/wire_reader.h"
#include "daemon/compile/protocol/wire_writer.h"

namespace cccl_cache::daemon {
namespace {

/// Whether each component of a path after its first slash is one.
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
  WireWriter writer;
  writer.U8(static_cast<uint8_t>(header.kind));
  writer.U64(header.identity);
  writer.U64(header.size);
  return writer.Joined();
}

Result<FileAnswerStart> DecodeFileAnswer(std::string_view packet) {
  const size_t header_bytes = std::min(packet.size(), kFileAnswerHeaderBytes);
  WireReader reader(packet.substr(0, header_bytes));
  const uint8_t kind = reader.U8();
  FileAnswerStart start;
  start.header = {
      .kind = static_cast<FileKind>(kind), .identity = reader.U64(), .size = reader.U64()};
  start.contents = packet.substr(header_bytes);
  if (!reader.Complete() || kind > static_cast<uint8_t>(FileKind::kDirectory) ||
      !Possible(start.header) || start.contents.size() != BytesInFirstPacket(start.header.size)) {
    return Error{ErrorCode::kUnavailable, "malformed answer about a file"};
  }
  return start;
}

size_t BytesInFirstPacket(uint64_t left) {
  return std::min<uint64_t>(left, kMaxPacketBytes - kFileAnswerHeaderBytes);
}

size_t BytesInNextPacket(uint64_t left) { return std::min<uint64_t>(left, kMaxPacketBytes); }

}  // namespace cccl_cache::daemon
