// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace cccl_cached {

inline constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

enum FrameType : uint8_t {
  kDataFrame,
  kHeadersFrame,
  kPriorityFrame,
  kResetFrame,
  kSettingsFrame,
  kPushFrame,
  kPingFrame,
  kGoawayFrame,
  kWindowFrame,
  kContinuationFrame,
  kUnknownFrame
};
inline constexpr uint8_t kEndOfStream = 1;
inline constexpr uint8_t kEndOfHeaders = 4;

/// An HTTP/2 frame of stream 1.
inline std::string Frame(FrameType type, uint8_t flags, const std::string& payload) {
  const auto size = static_cast<uint32_t>(payload.size());
  std::string frame;
  for (const int shift : {16, 8, 0}) frame += static_cast<char>(size >> shift & 0xff);
  frame += static_cast<char>(type);
  frame += static_cast<char>(flags);
  return frame.append("\0\0\0\1", 4) + payload;
}

/// The same with a payload of so many bytes that mean nothing.
inline std::string Frame(FrameType type, uint8_t flags, size_t size) {
  return Frame(type, flags, std::string(size, 'a'));
}

}  // namespace cccl_cached
