// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cccl_cache {

/// Returns the kernel's random id of the machine's current boot (/proc/sys/kernel/random/boot_id).
/// Empty if the file can't be read.
[[nodiscard]] std::string BootId();

}  // namespace cccl_cache
