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

/// Why a call failed. A build that does not compile is no error: see Outcome.
struct Error {
  cccl_cache_status status = CCCL_CACHE_UNAVAILABLE;
  /// The cause and the way out, for a person.
  std::string message;
  /// When to come back; 0: no hint.
  uint32_t retry_after_ms = 0;
};

/// Takes over what a function of the C interface said was wrong.
inline Error TakeError(cccl_cache_error* error) {
  const Handle<cccl_cache_error, cccl_cache_error_free> owned(error);
  return {cccl_cache_error_status(error), std::string(View(cccl_cache_error_message(error))),
          cccl_cache_error_retry_after_ms(error)};
}

/// A value or an Error. Nothing throws; looking at the wrong side is a bug and stops the program.
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

/// For operations without a value.
struct Done {};

}  // namespace cccl_cache
