// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/wire/messages.h"

#include <fmt/format.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <string>

#include "base/text.h"

namespace cccl_cache::daemon {
namespace {

grpc::StatusCode CodeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidRequest:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case ErrorCode::kToolchainNotFound:
    case ErrorCode::kFilesNeeded:
    case ErrorCode::kUploadNeeded:
      return grpc::StatusCode::FAILED_PRECONDITION;
    case ErrorCode::kNotCached:
      return grpc::StatusCode::NOT_FOUND;
    case ErrorCode::kOverloaded:
    case ErrorCode::kOutOfMemory:
      return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case ErrorCode::kWorkerCrashed:
      return grpc::StatusCode::INTERNAL;
    case ErrorCode::kTimedOut:
      return grpc::StatusCode::DEADLINE_EXCEEDED;
    case ErrorCode::kDenied:
      return grpc::StatusCode::PERMISSION_DENIED;
    case ErrorCode::kCancelled:
      return grpc::StatusCode::CANCELLED;
    case ErrorCode::kUnavailable:
      return grpc::StatusCode::UNAVAILABLE;
  }
  return grpc::StatusCode::UNAVAILABLE;
}

}  // namespace

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

std::string TextOf(const Error& error) {
  std::string text = ToUtf8(CutAtCharacter(error.message, kMaxErrorText));
  if (error.request_id != 0) text += fmt::format(" [request {:x}]", error.request_id);
  return text;
}

grpc::Status ToGrpcStatus(const Error& error, grpc::ServerContextBase& context) {
  context.AddTrailingMetadata("cccl-error", std::string(Name(error.code)));
  if (error.retry_after.count() > 0) {
    context.AddTrailingMetadata("cccl-retry-ms", std::to_string(error.retry_after.count()));
  }
  return {CodeOf(error.code), TextOf(error)};
}

}  // namespace cccl_cache::daemon
