// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace cccl_cache::daemon {

/// Runs `task` in this many processes, which start at the same moment. A task gets its number, from
/// 0, and returns whether it succeeded. Returns the microseconds until the last one ended; negative
/// if one failed.
double RunForked(int processes, const std::function<bool(int)>& task);

}  // namespace cccl_cache::daemon
