// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "daemon/configuration/settings.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// What a configuration file sets. Every error names file and line.
[[nodiscard]] Result<std::vector<Assignment>> ReadTomlFile(const std::string& path);

}  // namespace cccl_cache::daemon
