// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/model/toolchain.h"

namespace cccl_cache::daemon {

/// Returns the NVRTC of CUDA 13 and its builtins, without headers. Fails the test if there is no
/// such CUDA.
[[nodiscard]] ToolchainPtr RealToolchain();

}  // namespace cccl_cache::daemon
