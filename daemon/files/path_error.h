// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// The reason why a path leads to no file that may be given.
struct PathError {
  enum class Kind : uint8_t {
    kAbsent,      ///< no such file
    kClientOnly,  ///< the daemon may not look it up for this requester; the client can
    kRefused,     ///< it lies in a place from which no requester is served
    kSpecial,     ///< a FIFO, a device, a socket
    kTooLarge,
    kChanging,  ///< it changed while it was looked at
    kFailed,    ///< any other errno, in `error`
  };
  Kind kind = Kind::kAbsent;
  int error = 0;

  /// Returns the path error for the errno of a failed system call.
  static PathError Of(int error);
};

template <typename T>
using Reached = std::variant<T, PathError>;

/// Returns the error for the requester, with the path as the requester spelled it. Not for kAbsent.
[[nodiscard]] Error Explain(const PathError& obstacle, std::string_view path);

}  // namespace cccl_cache::daemon
