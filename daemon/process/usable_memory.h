// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace cccl_cache::daemon {

/// Returns how many bytes of memory this process and its children may use: the machine's, or what
/// the limits of its control group and of those above leave of it. 0: unknown. `root` is what the
/// paths below /proc and /sys begin with; tests set it.
[[nodiscard]] uint64_t UsableMemory(const std::string& root = "");

}  // namespace cccl_cache::daemon
