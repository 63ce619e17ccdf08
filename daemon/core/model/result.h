// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "client/include/cccl_cache/either.h"

namespace cccl_cache::daemon {

/// The errors of a request that a client must distinguish. Sent as the trailer `cccl-error`: names
/// never change.
enum class ErrorCode : uint8_t {
  kInvalidRequest,     ///< a field or option can't be served; the message names it
  kToolchainNotFound,  ///< the message lists the present toolchains
  kFilesNeeded,        ///< the build needs files that the daemon may not open for this client
  kNotCached,          ///< a miss, and the build may not be compiled
  kUploadNeeded,       ///< this uid has no upload with the digest (any more): upload again
  kOverloaded,         ///< a queue or quota is full; retry_after says when to try again
  kWorkerCrashed,      ///< the compiler died, was killed, or gave no valid answer
  kTimedOut,           ///< the build's own time limit has passed
  kOutOfMemory,        ///< the compiler reached its memory limit
  kDenied,             ///< this uid may not do it
  kCancelled,          ///< no client waits any more, or the daemon is stopping
  kUnavailable,        ///< the daemon can't do it now: a system call failed, or it is stopping
};

/// Returns the name of a code: "invalid-request", ...
[[nodiscard]] std::string_view Name(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kUnavailable;
  /// One or two sentences for a person: the cause and the remedy. Contains no source text and no
  /// file contents.
  std::string message;
  /// Time after which to retry. Zero for no hint.
  std::chrono::milliseconds retry_after{0};
  /// kWorkerCrashed: whether the compiler died by a signal of its own, so that it may die on this
  /// input again.
  bool own_signal = false;
  /// kUnavailable: whether the cause was the job's precompiled text, not the job or the machine.
  bool useless_precompiled = false;
  /// Number of a build in the log. 0 for none.
  uint64_t request_id = 0;
};

template <typename T>
using Result = Either<T, Error>;  ///< the C++ client's Expected has another Error

/// The value of operations without a value: `return Ok{};`.
struct Ok {};
using Status = Result<Ok>;

/// Returns the error for a request to a stopping daemon. Another daemon may start soon.
[[nodiscard]] inline Error Stopping() {
  return {ErrorCode::kUnavailable, "the daemon is stopping; try again",
          std::chrono::milliseconds(100)};
}

/// Returns the error for a build whose dependencies changed at each attempt.
[[nodiscard]] Error KeepsChanging();

/// Returns the error for a miss of a build that may not be compiled.
[[nodiscard]] Error NotCached();

/// Returns the error for a build whose files could not be read within `limit`.
[[nodiscard]] Error FilesHang(std::chrono::milliseconds limit);

}  // namespace cccl_cache::daemon
