// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace cccl_cache::daemon {

/// Waits until the descriptor is readable, which includes the end of its peer. Returns false if
/// `patience` ran out first.
[[nodiscard]] bool WaitReadable(int fd, std::chrono::milliseconds patience);

}  // namespace cccl_cache::daemon
