// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/compile/protocol/job.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// NVRTC's result for a job in a separate process without hidden names: the program's and the
/// working directory's names are real ones. The job's mounts and files are not looked at.
[[nodiscard]] Result<WorkerReply> CompileRaw(const CompileJob& job);

}  // namespace cccl_cache::daemon
