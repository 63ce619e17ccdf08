// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/peer.h"
#include "daemon/service/build_backend.h"
#include "daemon/service/raw_service.h"
#include "daemon/service/snapshot_sources.h"

namespace cccl_cached {

/// cccl_cache.v1.Snapshot for one peer. Thread-safe.
class SnapshotService final : public RawService {
 public:
  /// Both must outlive the service.
  SnapshotService(BuildBackend& backend, const Peer& peer, const SnapshotSources& sources);
};

}  // namespace cccl_cached
