// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/message_lite.h>

#include <array>
#include <cstring>
#include <string>
#include <string_view>

#include "client/src/transport/byte_chain.h"
#include "client/src/transport/message_assembler.h"

/// Returns a message as if received.
inline cccl_cache::Message Received(std::string_view bytes) {
  cccl_cache::Message message = cccl_cache::Message::WithRoomFor(bytes.size());
  std::memcpy(message.bytes.get(), bytes.data(), bytes.size());
  return message;
}

inline cccl_cache::Message Received(const google::protobuf::MessageLite& message) {
  return Received(message.SerializeAsString());
}

/// Returns all bytes of a chain.
inline std::string Joined(const cccl_cache::ByteChain& chain) {
  std::string bytes;
  for (cccl_cache::ByteChain::Position at; bytes.size() < chain.size();) {
    std::array<iovec, 1> piece;
    if (chain.Describe(at, piece) != 1) break;
    bytes.append(static_cast<const char*>(piece[0].iov_base), piece[0].iov_len);
    at = chain.Advance(at, piece[0].iov_len);
  }
  return bytes;
}

/// Returns the message in a chain after gRPC's five bytes.
template <typename Message>
Message Sent(const cccl_cache::ByteChain& chain) {
  const std::string bytes = Joined(chain);
  Message message;
  if (bytes.size() < 5 || !message.ParseFromString(bytes.substr(5))) {
    message.Clear();
    std::abort();
  }
  return message;
}
