// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "client/include/cccl_cache/either.h"

namespace cccl_cache::daemon {

/// The errors that clients must distinguish. Their names are sent as the gRPC trailer `cccl-error`,
/// and never change.
enum class ErrorCode : uint8_t {
  kInvalidRequest,     ///< a field or option of the request can't be served; the message names it
  kToolchainNotFound,  ///< the message lists the present toolchains
  kFilesNeeded,        ///< the daemon may not open files that the build needs; the client must send
                       ///< them
  kNotCached,          ///< the build is a miss, and the request allows no compile
  kUploadNeeded,       ///< the daemon has no upload of this uid with the digest (any more); upload
                       ///< it again
  kOverloaded,         ///< a queue is full or a quota is used up; retry_after says when to try
                       ///< again
  kWorkerCrashed,      ///< the compiler died, was killed, or gave no valid answer
  kTimedOut,           ///< the build took longer than its time limit
  kOutOfMemory,        ///< the compiler reached its memory limit
  kDenied,             ///< the user may not do this
  kCancelled,          ///< no client waits any more, or the daemon is stopping
  kUnavailable,        ///< the daemon can't do this now, for example because a system call failed
};

/// Returns the name of the code, such as "invalid-request".
[[nodiscard]] std::string_view Name(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kUnavailable;
  /// One or two sentences for a person: the cause and the remedy. Contains no source text and no
  /// file contents.
  std::string message;
  /// Time after which the client should try again. Zero if unknown.
  std::chrono::milliseconds retry_after{0};
  /// For kWorkerCrashed: whether the compiler died by a signal that it caused itself, so that it
  /// probably dies on this input again.
  bool own_signal = false;
  /// For kUnavailable: whether the cause is the job's precompiled text, so that the job may succeed
  /// without it.
  bool useless_precompiled = false;
  /// The number of the request in the log. 0 if it has none.
  uint64_t request_id = 0;
};

template <typename T>
using Result = Either<T, Error>;  ///< the C++ client's Expected has another Error

/// The value of a Result that has no other value: `return Ok{};`.
struct Ok {};
using Status = Result<Ok>;

/// Returns the error for a request while the daemon is stopping. The client should try again,
/// because another daemon may start soon.
[[nodiscard]] inline Error Stopping() {
  return {ErrorCode::kUnavailable, "the daemon is stopping; try again",
          std::chrono::milliseconds(100)};
}

/// Returns the error for a build whose files or toolchain changed during each of several attempts.
[[nodiscard]] Error KeepsChanging();

/// Returns the error for a build that is a miss and must not be compiled.
[[nodiscard]] Error NotCached();

/// Returns the error for a build whose files could not be read within `limit`.
[[nodiscard]] Error FilesHang(std::chrono::milliseconds limit);

}  // namespace cccl_cache::daemon
