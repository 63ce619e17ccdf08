// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <chrono>
#include <string>
#include <utility>
#include <variant>

namespace cccl_cache::daemon {

/// What can go wrong with a request, as far as a client must tell one from another. Sent as the
/// trailer `cccl-error`: names never change.
enum class ErrorCode : uint8_t {
  kInvalidRequest,     ///< a field or option that can't be served; the message names it
  kToolchainNotFound,  ///< the message lists those present
  kFilesNeeded,        ///< the build wants files that the daemon may not open for this client
  kUploadNeeded,       ///< a digest names no upload of this uid (any more): upload again
  kOverloaded,         ///< queue or quota full; retry_after says when to come back
  kWorkerCrashed,      ///< the compiler died, was killed, or gave no valid answer
  kTimedOut,           ///< the build's own limit passed
  kOutOfMemory,        ///< the compiler met its memory limit
  kDenied,             ///< not allowed to this uid
  kCancelled,          ///< nobody waits any more, or the daemon stops
  kUnavailable,        ///< the daemon can't do it now: a system call failed, it is stopping
};

/// "invalid-request", ...
[[nodiscard]] std::string_view Name(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kUnavailable;
  /// One or two sentences for a person: the cause and the way out. No source text, no file
  /// contents.
  std::string message;
  /// Zero: no hint.
  std::chrono::milliseconds retry_after{0};
  /// kWorkerCrashed: by a signal of its own, as it may do on this input again.
  bool own_signal = false;
  /// kUnavailable: because of what the job was to be spared, not of the job or the machine.
  bool useless_precompiled = false;
};

/// A value or an Error. Nothing of ours throws; looking at the wrong side is a bug and stops the
/// process.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  [[nodiscard]] const T& value() const& {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] T& value() & {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] T&& value() && {
    assert(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  [[nodiscard]] const Error& error() const {
    assert(!ok());
    return *std::get_if<1>(&state_);
  }

  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

 private:
  std::variant<T, Error> state_;
};

/// For operations without a value: `return Ok{};`.
struct Ok {};
using Status = Result<Ok>;

/// What is told to who comes while the daemon ends: another one may be there in a moment.
[[nodiscard]] inline Error Stopping() {
  return {ErrorCode::kUnavailable, "the daemon is stopping; try again",
          std::chrono::milliseconds(100)};
}

/// What a build depends on changed again each time it was tried.
[[nodiscard]] Error KeepsChanging();

/// Its files were looked at in vain for so long.
[[nodiscard]] Error FilesHang(std::chrono::milliseconds limit);

}  // namespace cccl_cache::daemon
