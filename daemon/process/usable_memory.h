// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace cccl_cache::daemon {

/// Returns how many bytes of memory this process and its children may use: the machine's memory or
/// the lowest limit of its control groups. 0: unknown. `root` is put in front of paths in /proc and
/// /sys, for tests.
[[nodiscard]] uint64_t UsableMemory(const std::string& root = "");

}  // namespace cccl_cache::daemon
