// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "cccl_cache/expected.h"

namespace cccl_cache::cli {

/// Returns the version as cuDriverGetVersion does (13000 for 13.0); 0: this machine has no driver.
/// Cheap without a driver.
[[nodiscard]] uint32_t DriverVersion();

/// "90" for the first device that this process may use.
[[nodiscard]] Expected<std::string> NativeArchitecture();

}  // namespace cccl_cache::cli
