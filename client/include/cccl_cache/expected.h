// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "cccl_cache/c/base.h"
#include "cccl_cache/either.h"
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

template <typename T>
using Expected = Either<T, Error>;

/// The value of operations that return none.
struct Done {};

}  // namespace cccl_cache
