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
/// Returns the same for this process and its clients together. If this process is a service of
/// systemd, clients are outside of the service's control group, so its limits do not apply.
[[nodiscard]] uint64_t MemoryWithClients(const std::string& root = "");

}  // namespace cccl_cache::daemon
