// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cccl_cache/v1/snapshot.pb-c.h>

#include <string_view>

#include "cccl_cache/expected.h"
#include "client/src/calls/snapshot_download.h"
#include "client/src/transport/channel.h"
#include "client/src/transport/timing.h"

namespace cccl_cache {

/// Asks the daemon for a snapshot and writes it to a descriptor. `known`: keys that are not wanted,
/// 32 bytes each. Both must outlive the call.
[[nodiscard]] Expected<SnapshotSummary> CreateSnapshot(Channel* channel,
                                                       CcclCache__V1__SnapshotFilter* filter,
                                                       std::string_view known, int fd,
                                                       Deadline deadline);

/// Sends the daemon the snapshot in a regular file of so many bytes.
[[nodiscard]] Expected<SnapshotSummary> InsertSnapshot(Channel* channel, int fd, uint64_t size,
                                                       Deadline deadline);

}  // namespace cccl_cache
