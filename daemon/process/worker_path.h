// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// Returns the path of the cccl-cached-worker that belongs to this executable: installed beside it,
/// or built with it.
[[nodiscard]] Result<std::string> FindWorker();

/// Returns the directory of Python packages, for a worker that was installed from a wheel. CUDA's
/// packages may be in the same directory.
[[nodiscard]] std::string PackagesAround(const std::string& worker);

}  // namespace cccl_cache::daemon
