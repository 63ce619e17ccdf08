// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "daemon/core/model/file_checks.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// For FileChecks that read what is only on the daemon's own disk: the store must not go before
/// Close. A disk that is asked for so much at once is busy.
inline constexpr FileChecks::Bounds kDiskReads{
    .awaited = "the daemon's disk", .threads_per_uid = 4, .close_awaits_looks = true};

/// A read of the disk took longer than this, or stood behind such reads of the same user.
[[nodiscard]] Error DiskHangs(std::chrono::milliseconds limit);

}  // namespace cccl_cache::daemon
