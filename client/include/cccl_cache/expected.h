// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "cccl_cache/c/base.h"
#include "cccl_cache/either.h"
#include "cccl_cache/handle.h"

namespace cccl_cache {

/// The error of a failed call. Source that does not compile is not an error: the call returns a
/// result with Outcome::kFailed.
struct Error {
  cccl_cache_status status = CCCL_CACHE_UNAVAILABLE;
  /// A text for the user: the cause, and what to do about it.
  std::string message;
  /// Milliseconds after which a retry may succeed. 0: unknown.
  uint32_t retry_after_ms = 0;
};

/// Converts an error of the C interface to an Error, and frees it.
inline Error TakeError(cccl_cache_error* error) {
  const Handle<cccl_cache_error, cccl_cache_error_free> owned(error);
  return {cccl_cache_error_status(error), std::string(View(cccl_cache_error_message(error))),
          cccl_cache_error_retry_after_ms(error)};
}

template <typename T>
using Expected = Either<T, Error>;

/// The value of a successful operation that returns nothing else.
struct Done {};

}  // namespace cccl_cache
