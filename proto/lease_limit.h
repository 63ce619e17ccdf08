// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace cccl_cache {

/// How long the holder of a lease may keep it while others wait, unless the daemon's `lease_limit`
/// says otherwise; and how long clients wait for another client's lease, unless they are given a
/// time. One run of nvcc over CUTLASS may take that long.
inline constexpr std::chrono::minutes kLeaseLimit{20};

}  // namespace cccl_cache
