// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/compile/protocol/job.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// Runs NVRTC on a job in a separate process without canonical names: program and working directory
/// have their real names. The job's mounts and files are ignored.
[[nodiscard]] Result<WorkerReply> CompileRaw(const CompileJob& job);

}  // namespace cccl_cache::daemon
