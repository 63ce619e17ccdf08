// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "daemon/core/model/result.h"
#include "daemon/core/model/toolchain.h"
#include "proto/component_id.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// The toolchain that one request asks for.
struct ToolchainWish {
  const ToolchainSelector& selector;
  uint32_t driver_version = 0;
  BuildKind kind = BuildKind::kNvrtc;
};

/// Least number of hexadecimal digits of an abbreviated id.
inline constexpr size_t kShortestId = 8;

/// Returns whether the client names the toolchain by one of its own libraries.
[[nodiscard]] inline bool IsByLibrary(const ToolchainSelector& selector) {
  return selector.id.starts_with(kLibraryMark);
}

/// Returns the toolchain that serves a request, as described at Toolchains::Select. `present` is
/// newest first; of equal versions the first in search order wins. kInvalidRequest: the selector is
/// malformed or ambiguous. kToolchainNotFound: no toolchain fits; NotFound() adds the list to the
/// error.
[[nodiscard]] Result<ToolchainPtr> Choose(std::span<const ToolchainPtr> present,
                                          const ToolchainWish& wish);

/// Returns kToolchainNotFound for `why`, with the present and the rejected toolchains and the
/// remedy.
[[nodiscard]] Error NotFound(const std::string& why, std::span<const ToolchainPtr> present,
                             std::span<const RejectedToolchain> rejected);

}  // namespace cccl_cache::daemon
