// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cccl_cache/expected.h"

namespace cccl_cache::cli {

/// Returns the version as cuDriverGetVersion does (13000 for 13.0); 0: this machine has no driver.
/// Fast without a driver.
[[nodiscard]] uint32_t DriverVersion();

/// Returns the driver's version, from the user's cache if it has one for this environment: the
/// machine's boot, its driver, the mounts, the loader's search paths and preloaded libraries.
/// Loading libcuda takes longer than a whole hit. Otherwise calls `ask`, and keeps its result
/// unless it is 0.
[[nodiscard]] uint32_t KeptDriverVersion(const std::function<uint32_t()>& ask);

/// Returns the architecture of the first device that this process may use: "90".
[[nodiscard]] Expected<std::string> NativeArchitecture();

}  // namespace cccl_cache::cli
