// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cccl_cache::daemon {

/// Threads of this process; 0 if /proc does not say.
[[nodiscard]] int OwnThreads();

/// What RLIMIT_DATA counts of this process now; 0 if /proc does not say.
[[nodiscard]] uint64_t OwnDataBytes();

/// What RLIMIT_AS counts of this process now; 0 if /proc does not say.
[[nodiscard]] uint64_t OwnAddressBytes();

}  // namespace cccl_cache::daemon
