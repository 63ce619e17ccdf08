// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "daemon/compile/protocol/job.h"
#include "daemon/compile/worker_session.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// Returns the result of a job for its requester. An answer counts only from a worker that exited
/// normally, and only if this job can have it. Exhausted resources are an error, even where the
/// compiler calls them a compile failure: they must not be remembered as the input's fault.
[[nodiscard]] Result<CompileOutput> Judge(const CompileJob& job, const CompileLimits& limits,
                                          SessionEnd end);

/// Returns whether a process gets this signal for its own actions and, in practice, never from
/// another process.
[[nodiscard]] bool IsOwnSignal(int number);

/// Returns the output of a reply that has passed all checks.
[[nodiscard]] CompileOutput OutputOf(WorkerReply reply, std::chrono::microseconds compile_time);

}  // namespace cccl_cache::daemon
