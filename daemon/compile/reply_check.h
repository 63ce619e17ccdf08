// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/compile/protocol/job.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// Whether this is an answer that this job can have: outputs of the kinds that its compiler makes,
/// and names that were asked for. kWorkerCrashed, with what is wrong.
[[nodiscard]] Status CheckReply(const CompileJob& job, const WorkerReply& reply);

}  // namespace cccl_cache::daemon
