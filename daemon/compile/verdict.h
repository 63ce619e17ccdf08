// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "daemon/compile/protocol/job.h"
#include "daemon/compile/worker_session.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// Returns the result of a job from the end of its worker. A reply is used only if the worker
/// exited normally and the reply fits the job. If the worker ran out of memory, the result is an
/// error even if the compiler reports a compile failure. A compile failure would be cached as if
/// the program had caused it.
[[nodiscard]] Result<CompileOutput> Judge(const CompileJob& job, const CompileLimits& limits,
                                          SessionEnd end);

/// Returns whether a process usually gets this signal because of its own actions, and hardly ever
/// from another process.
[[nodiscard]] bool IsOwnSignal(int number);

/// Returns the output of a reply that CheckReply() has accepted.
[[nodiscard]] CompileOutput OutputOf(WorkerReply reply, std::chrono::microseconds compile_time);

}  // namespace cccl_cache::daemon
