// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/wire/grpc_status.h"

#include <string>

#include "daemon/service/wire/utf8.h"

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

grpc::Status ToGrpcStatus(const Error& error, grpc::ServerContextBase& context) {
  context.AddTrailingMetadata("cccl-error", std::string(Name(error.code)));
  if (error.retry_after.count() > 0) {
    context.AddTrailingMetadata("cccl-retry-ms", std::to_string(error.retry_after.count()));
  }
  return {CodeOf(error.code), ToUtf8(error.message.substr(0, kLongestErrorText))};
}

}  // namespace cccl_cache::daemon
