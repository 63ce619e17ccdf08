// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cccl_cache {

/// Returns the kernel's random id of the machine's current boot (/proc/sys/kernel/random/boot_id).
/// Empty if the file can't be read.
[[nodiscard]] std::string BootId();

/// Returns this machine's name (gethostname). Empty if it can't be read.
[[nodiscard]] std::string HostName();

}  // namespace cccl_cache
