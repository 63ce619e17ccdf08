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

/// The attributes of the toolchain that a request asks for.
struct ToolchainWish {
  const ToolchainSelector& selector;
  uint32_t driver_version = 0;
  BuildKind kind = BuildKind::kNvrtc;
};

/// Minimum number of hexadecimal digits in an abbreviated toolchain id.
inline constexpr size_t kShortestId = 8;

/// Returns whether the selector identifies the toolchain by a library that the client has loaded.
[[nodiscard]] inline bool IsByLibrary(const ToolchainSelector& selector) {
  return selector.id.starts_with(kLibraryMark);
}

/// Returns the toolchain that serves a request; see Toolchains::Select. `present` is sorted by
/// version, newest first; of equal versions the first one is chosen. kInvalidRequest: the selector
/// is malformed or ambiguous. kToolchainNotFound: no toolchain matches. The caller extends that
/// error with NotFound().
[[nodiscard]] Result<ToolchainPtr> Choose(std::span<const ToolchainPtr> present,
                                          const ToolchainWish& wish);

/// Returns the error kToolchainNotFound. Its message consists of `why`, a list of the present and
/// the rejected toolchains, and advice for the user.
[[nodiscard]] Error NotFound(const std::string& why, std::span<const ToolchainPtr> present,
                             std::span<const RejectedToolchain> rejected);

}  // namespace cccl_cache::daemon
