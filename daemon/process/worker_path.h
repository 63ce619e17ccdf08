// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// Returns the path of the cccl-cached-worker that belongs to this executable: installed beside it,
/// or built with it.
[[nodiscard]] Result<std::string> FindWorker();

/// Returns the directory of Python packages in which a worker from a wheel lies; CUDA's packages
/// may be there too.
[[nodiscard]] std::string PackagesAround(const std::string& worker);

}  // namespace cccl_cache::daemon
