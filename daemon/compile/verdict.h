// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "daemon/compile/protocol/job.h"
#include "daemon/compile/worker_session.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// Returns the result of a job for its requester. A reply counts only from a worker that exited
/// normally, and only if it fits the job. Exhausted resources are an error, even if the compiler
/// reports a compile failure: that must not be cached as the program's.
[[nodiscard]] Result<CompileOutput> Judge(const CompileJob& job, const CompileLimits& limits,
                                          SessionEnd end);

/// Returns whether this signal comes from a process's own actions and, in practice, never from
/// another process.
[[nodiscard]] bool IsOwnSignal(int number);

/// Returns the output of a checked reply.
[[nodiscard]] CompileOutput OutputOf(WorkerReply reply, std::chrono::microseconds compile_time);

}  // namespace cccl_cache::daemon
