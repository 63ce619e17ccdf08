// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace cccl_cache::daemon {

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

/// Returns an HTTP/2 frame.
inline std::string Frame(FrameType type, uint8_t flags, const std::string& payload,
                         uint32_t stream = 1) {
  const auto size = static_cast<uint32_t>(payload.size());
  std::string frame;
  for (const int shift : {16, 8, 0}) frame += static_cast<char>(size >> shift & 0xff);
  frame += static_cast<char>(type);
  frame += static_cast<char>(flags);
  for (const int shift : {24, 16, 8, 0}) frame += static_cast<char>(stream >> shift & 0xff);
  return frame + payload;
}

/// Returns a frame with a payload of this many zeros, which in a DATA frame are empty messages.
inline std::string Frame(FrameType type, uint8_t flags, size_t size, uint32_t stream = 1) {
  return Frame(type, flags, std::string(size, '\0'), stream);
}

/// Returns the prefix of a gRPC message of this size.
inline std::string MessagePrefix(uint32_t size) {
  std::string prefix(1, '\0');
  for (const int shift : {24, 16, 8, 0}) prefix += static_cast<char>(size >> shift & 0xff);
  return prefix;
}

}  // namespace cccl_cache::daemon
