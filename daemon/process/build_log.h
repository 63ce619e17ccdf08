// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/build/coordinator.h"
#include "daemon/process/log.h"

namespace cccl_cache::daemon {

/// One line for one build: who asked, what became of it, how long it took. Hits are written at
/// level debug, all else at info. No text of the client's is in it.
void LogBuild(Log& log, const BuildRecord& record);

}  // namespace cccl_cache::daemon
