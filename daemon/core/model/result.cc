// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/model/result.h"

#include <fmt/format.h>

namespace cccl_cache::daemon {
std::string_view Name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidRequest:
      return "invalid-request";
    case ErrorCode::kToolchainNotFound:
      return "toolchain-not-found";
    case ErrorCode::kFilesNeeded:
      return "files-needed";
    case ErrorCode::kNotCached:
      return "not-cached";
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

Error KeepsChanging() {
  return Error{ErrorCode::kUnavailable,
               "what this build depends on keeps changing on disk; try again when it has settled"};
}

Error NotCached() {
  return Error{ErrorCode::kNotCached,
               "nothing cached has the result of this build, and it asks for no compile (on_miss)"};
}

Error FilesHang(std::chrono::milliseconds limit) {
  return Error{ErrorCode::kTimedOut,
               fmt::format("the files of this build could not be looked at within {} s: does a "
                           "file system hang that its directories lie on?",
                           std::chrono::ceil<std::chrono::seconds>(limit).count())};
}

}  // namespace cccl_cache::daemon
