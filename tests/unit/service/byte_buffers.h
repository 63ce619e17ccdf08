// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>

#include <string>
#include <string_view>
#include <vector>

namespace cccl_cache::daemon {

inline grpc::ByteBuffer BufferOf(std::string_view bytes) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  return {&slice, 1};
}

inline grpc::ByteBuffer BufferOf(const google::protobuf::MessageLite& message) {
  return BufferOf(message.SerializeAsString());
}

inline std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  static_cast<void>(buffer.Dump(&slices));
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

/// Returns the message in a buffer, which must be valid.
template <typename Message>
Message MessageIn(const grpc::ByteBuffer& buffer) {
  Message message;
  if (!message.ParseFromString(BytesOf(buffer))) std::abort();
  return message;
}

}  // namespace cccl_cache::daemon
