// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace cccl_cache::daemon {

/// Runs `task` in that many processes at once, all let go in the same moment. The tasks are told
/// their number, from 0, and whether they succeed is the answer. Returns the microseconds until the
/// last one ended; negative: one failed.
double RunForked(int processes, const std::function<bool(int)>& task);

}  // namespace cccl_cache::daemon
