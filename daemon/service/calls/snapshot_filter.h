// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "cccl_cache/v1/snapshot.pb.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/snapshots.h"

namespace cccl_cache::daemon {

/// kInvalidRequest names the field.
[[nodiscard]] Result<SnapshotFilter> FromProto(const cccl_cache::v1::SnapshotFilter& message);

/// Adds keys as they are sent: 32 bytes each.
[[nodiscard]] Status AddKnownKeys(std::string_view keys, SnapshotFilter& filter);

void ToProto(const SnapshotSummary& summary, cccl_cache::v1::SnapshotSummary& message);

}  // namespace cccl_cache::daemon
