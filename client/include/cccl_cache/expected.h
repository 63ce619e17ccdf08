// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "cccl_cache/c/base.h"
#include "cccl_cache/handle.h"

namespace cccl_cache {

/// The reason of a failed call. A build that does not compile is not an error: see Outcome.
struct Error {
  cccl_cache_status status = CCCL_CACHE_UNAVAILABLE;
  /// The cause and the remedy, for people.
  std::string message;
  /// Retry after this many milliseconds. 0: no hint.
  uint32_t retry_after_ms = 0;
};

/// Converts an error of the C interface and frees it.
inline Error TakeError(cccl_cache_error* error) {
  const Handle<cccl_cache_error, cccl_cache_error_free> owned(error);
  return {cccl_cache_error_status(error), std::string(View(cccl_cache_error_message(error))),
          cccl_cache_error_retry_after_ms(error)};
}

/// A value or an Error. Nothing throws. Access to the wrong alternative is a bug that an assertion
/// catches.
template <typename T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Expected(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

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
  [[nodiscard]] const Error& error() const& {
    assert(!ok());
    return *std::get_if<1>(&state_);
  }
  [[nodiscard]] Error&& error() && {
    assert(!ok());
    return std::move(*std::get_if<1>(&state_));
  }

  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

 private:
  std::variant<T, Error> state_;
};

/// The value of operations that return none.
struct Done {};

}  // namespace cccl_cache
