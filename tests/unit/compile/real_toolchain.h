// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/model/toolchain.h"

namespace cccl_cache::daemon {

/// The NVRTC of CUDA 13 and its builtins, without any header of its own. Fails the test if there is
/// no CUDA for it.
[[nodiscard]] ToolchainPtr RealToolchain();

}  // namespace cccl_cache::daemon
