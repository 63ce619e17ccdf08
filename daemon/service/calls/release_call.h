// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/model/releases.h"
#include "daemon/core/model/result.h"
#include "daemon/service/calls/blocking_call.h"

namespace cccl_cache::daemon {

/// Admin.AddRelease: receives the digests of a compiler's files. Then receives the files, if the
/// daemon does not have them and accepts them.
[[nodiscard]] Status AddRelease(BlockingCall& call, Releases& releases);

}  // namespace cccl_cache::daemon
