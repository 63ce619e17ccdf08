// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// The reason why the file at a path can't be given to a requester.
struct PathError {
  enum class Kind : uint8_t {
    kAbsent,      ///< no such file
    kClientOnly,  ///< the daemon may not look the path up for this requester, but the client can
    kRefused,     ///< the path is in a place whose files no requester gets
    kSpecial,     ///< the path is a FIFO, a device or a socket
    kTooLarge,
    kChanging,  ///< the file changed during the look-up
    kFailed,    ///< any other error; `error` is its errno
  };
  Kind kind = Kind::kAbsent;
  int error = 0;

  /// Returns the path error for the errno of a failed system call.
  static PathError Of(int error);
};

template <typename T>
using Reached = std::variant<T, PathError>;

/// Returns the error for the requester. `path` is the path in the requester's spelling. The kind of
/// `obstacle` must not be kAbsent.
[[nodiscard]] Error Explain(const PathError& obstacle, std::string_view path);

}  // namespace cccl_cache::daemon
