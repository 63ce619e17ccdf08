// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/model/snapshots.h"
#include "daemon/service/transport/call_threads.h"

namespace cccl_cache::daemon {

/// What calls about snapshots work with. Outlives every call.
struct SnapshotSources {
  Snapshots& snapshots;
  CallThreads& threads;
};

}  // namespace cccl_cache::daemon
