// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "daemon/core/model/result.h"
#include "daemon/core/model/toolchain.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// What one request needs of a toolchain.
struct ToolchainWish {
  const ToolchainSelector& selector;
  uint32_t driver_version = 0;
  BuildKind kind = BuildKind::kNvrtc;
};

/// An id may be named by so many of its hexadecimal digits.
inline constexpr size_t kShortestId = 8;

/// The toolchain that serves a request, as Toolchains::Select has it. `present` is newest first; of
/// equal versions the first in search order wins. kInvalidRequest: the selector is malformed or
/// ambiguous; kToolchainNotFound: nothing fits, without saying what there is.
[[nodiscard]] Result<ToolchainPtr> Choose(std::span<const ToolchainPtr> present,
                                          const ToolchainWish& wish);

/// kToolchainNotFound for `why`, with those that are there, those that are not used, and the way
/// out.
[[nodiscard]] Error NotFound(const std::string& why, std::span<const ToolchainPtr> present,
                             std::span<const RejectedToolchain> rejected);

}  // namespace cccl_cache::daemon
