// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

std::string_view Name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidRequest:
      return "invalid-request";
    case ErrorCode::kToolchainNotFound:
      return "toolchain-not-found";
    case ErrorCode::kFilesNeeded:
      return "files-needed";
    case ErrorCode::kUploadNeeded:
      return "upload-needed";
    case ErrorCode::kOverloaded:
      return "overloaded";
    case ErrorCode::kWorkerCrashed:
      return "worker-crashed";
    case ErrorCode::kTimedOut:
      return "timed-out";
    case ErrorCode::kOutOfMemory:
      return "out-of-memory";
    case ErrorCode::kDenied:
      return "denied";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kUnavailable:
      return "unavailable";
  }
  return "unavailable";
}

}  // namespace cccl_cache::daemon
