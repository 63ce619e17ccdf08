// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "daemon/compile/protocol/job.h"
#include "daemon/compile/worker_session.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// What a job's end means to whoever asked for it. An answer counts only from a worker that exited
/// in order, and only if it is one that this job can have. Resources that ran out are an error,
/// also where the compiler calls it a compile failure: nothing of that may be remembered as the
/// input's fault.
[[nodiscard]] Result<CompileOutput> Judge(const CompileJob& job, const CompileLimits& limits,
                                          SessionEnd end);

/// Whether a process gets this signal for what it does itself, and from nobody else in earnest.
[[nodiscard]] bool IsOwnSignal(int number);

/// What a compiler made that is believed.
[[nodiscard]] CompileOutput OutputOf(WorkerReply reply, std::chrono::microseconds compile_time);

}  // namespace cccl_cache::daemon
