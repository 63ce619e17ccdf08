// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/model/peer.h"
#include "daemon/service/calls/snapshot_sources.h"
#include "daemon/service/limits/backend.h"
#include "daemon/service/transport/stream_call.h"

namespace cccl_cache::daemon {

/// cccl_cache.v1.Snapshot for one peer. Thread-safe.
class SnapshotService final : public RawService {
 public:
  /// Both must outlive the service.
  SnapshotService(BuildBackend& backend, const Peer& peer, const SnapshotSources& sources);
};

}  // namespace cccl_cache::daemon
