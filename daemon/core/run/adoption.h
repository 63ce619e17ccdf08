// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <stop_token>

#include "daemon/core/closure/closure_recorder.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/file_checks.h"
#include "daemon/core/model/result.h"
#include "daemon/core/run/preamble_pool.h"

namespace cccl_cache::daemon {

/// What ClosureRecorder::Adopt answers for the record of this preamble, on a thread for looking at
/// this user's files. None: not soon enough for the preamble to be of use, or the daemon stops; the
/// recorder is used up then.
[[nodiscard]] std::optional<Result<bool>> AdoptSoon(
    FileChecks& checks, Account account, const std::shared_ptr<ClosureRecorder>& recorder,
    const ParsedPreamblePtr& parsed, const std::stop_token& stop);

}  // namespace cccl_cache::daemon
