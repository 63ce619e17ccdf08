// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cccl_cache/expected.h"

namespace cccl_cache::cli {

/// Returns the version as cuDriverGetVersion does (13000 for 13.0); 0: this machine has no driver.
/// Cheap without a driver.
[[nodiscard]] uint32_t DriverVersion();

/// Returns the version that `ask` returned in the same environment: the machine's start, its
/// driver, the mounts, where libraries are looked for, and those that are loaded before all others.
/// To load libcuda for it again would take longer than a whole hit. Asks if the version is not in
/// the user's cache, and keeps it there unless it is 0.
[[nodiscard]] uint32_t KeptDriverVersion(const std::function<uint32_t()>& ask);

/// "90" for the first device that this process may use.
[[nodiscard]] Expected<std::string> NativeArchitecture();

}  // namespace cccl_cache::cli
