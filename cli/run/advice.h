// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/run/report.h"

namespace cccl_cache::cli {

/// Returns functions that ask the daemon at this socket, or at the default one if it is empty.
[[nodiscard]] Advisor AdvisorFor(const std::string& socket);

}  // namespace cccl_cache::cli
