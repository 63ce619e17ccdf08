// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// Why a name gives nothing.
struct PathError {
  enum class Kind : uint8_t {
    kAbsent,      ///< there is nothing
    kClientOnly,  ///< the daemon may not look for this requester
    kRefused,     ///< it lies where nobody is served from
    kSpecial,     ///< a FIFO, a device, a socket
    kTooLarge,
    kChanging,  ///< it changed while it was looked at
    kFailed,    ///< `error` says what
  };
  Kind kind = Kind::kAbsent;
  int error = 0;

  /// What a failed system call means.
  static PathError Of(int error);
};

template <typename T>
using Reached = std::variant<T, PathError>;

/// For the requester, under the name that the requester uses. Not for kAbsent.
[[nodiscard]] Error Explain(const PathError& obstacle, std::string_view path);

}  // namespace cccl_cache::daemon
