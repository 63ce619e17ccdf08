// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cccl_cache/expected.h"

namespace cccl_cache::cli {

/// Returns the driver's CUDA version as cuDriverGetVersion() does, for example 13000 for 13.0.
/// Returns 0 if this machine has no driver; then the call is fast, because libcuda is not loaded.
[[nodiscard]] uint32_t DriverVersion();

/// Returns the driver's CUDA version, if possible from the user's cache on disk, because loading
/// libcuda takes longer than a whole build that is a hit. A cached version is valid for the same
/// boot, driver module, mount namespace, library search paths and preloaded libraries. Otherwise
/// calls `ask`, and stores its result unless it is 0.
[[nodiscard]] uint32_t KeptDriverVersion(const std::function<uint32_t()>& ask);

/// Returns the compute capability of the first GPU that this process may use, for example "90".
[[nodiscard]] Expected<std::string> NativeArchitecture();

}  // namespace cccl_cache::cli
