// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "cccl_cache/v1/snapshot.pb.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/snapshots.h"
#include "daemon/service/calls/blocking_call.h"
#include "daemon/system/blocking_pool.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// The objects for calls about snapshots. They outlive every call.
struct SnapshotSources {
  Snapshots& snapshots;
  BlockingPool& threads;
};

/// Snapshot.Create: receives the filter and the keys to include or to leave out, then sends the
/// file.
[[nodiscard]] Status CreateSnapshot(BlockingCall& call, Snapshots& snapshots);

/// Snapshot.Insert: receives the file, then sends the result.
[[nodiscard]] Status InsertSnapshot(BlockingCall& call, Snapshots& snapshots);

/// Converts a filter. kInvalidRequest names the invalid field.
[[nodiscard]] Result<SnapshotFilter> FromProto(const cccl_cache::v1::SnapshotFilter& message);

/// Appends the keys in `sent`, which have 32 bytes each, to `keys`. `field` names the field in an
/// error.
[[nodiscard]] Status AddKeys(const char* field, std::string_view sent, std::vector<Digest>& keys);

void ToProto(const SnapshotSummary& summary, cccl_cache::v1::SnapshotSummary& message);

}  // namespace cccl_cache::daemon
