// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/model/toolchain.h"

namespace cccl_cache::daemon {

/// Returns a toolchain of only CUDA 13's NVRTC and its builtins, without headers. Fails the test if
/// CUDA 13 is not installed.
[[nodiscard]] ToolchainPtr RealToolchain();

}  // namespace cccl_cache::daemon
