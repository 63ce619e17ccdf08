// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "cccl_cache/expected.h"

namespace cccl_cache::cli {

/// As cuDriverGetVersion says (13000 for 13.0); 0: this machine has no driver. Cheap where there is
/// none.
[[nodiscard]] uint32_t DriverVersion();

/// "90" for the first device that this process may use.
[[nodiscard]] Expected<std::string> NativeArchitecture();

}  // namespace cccl_cache::cli
