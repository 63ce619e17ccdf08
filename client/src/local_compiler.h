// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cccl_cache/expected.h"
#include "client/src/build_reply.h"
#include "client/src/build_request.h"
#include "client/src/deadline.h"

namespace cccl_cache {

/// One build in a process of its own (cccl-cache-compile at `path`), with no daemon; sends all
/// contents along. The process and what it started are gone, or ending, when this returns. Errors
/// are those that a daemon gives, besides CCCL_CACHE_DEADLINE; CCCL_CACHE_WORKER_CRASHED too if the
/// process died. Thread-safe.
[[nodiscard]] Expected<BuildReply> CompileHere(const std::string& path, BuildRequest* request,
                                               Deadline deadline);

}  // namespace cccl_cache
