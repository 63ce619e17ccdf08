// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/wire/small_message.h"

#include <fmt/format.h>
#include <grpcpp/support/proto_buffer_reader.h>

namespace cccl_cache::daemon {

Status DecodeSmall(grpc::ByteBuffer& bytes, google::protobuf::MessageLite& message) {
  const uint64_t size = bytes.Length();
  if (size > kSmallRequestBytes) {
    return Error{ErrorCode::kInvalidRequest,
                 fmt::format("a request of {} bytes: at most {} are allowed here", size,
                             kSmallRequestBytes)};
  }
  grpc::ProtoBufferReader reader(&bytes);
  if (!message.ParseFromZeroCopyStream(&reader)) {
    return Error{ErrorCode::kInvalidRequest,
                 fmt::format("the message is not a {}", message.GetTypeName())};
  }
  return Ok{};
}

grpc::ByteBuffer Encode(const google::protobuf::MessageLite& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return {&slice, 1};
}

}  // namespace cccl_cache::daemon
