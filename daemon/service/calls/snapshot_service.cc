// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/snapshot_service.h"

#include "daemon/service/calls/create_snapshot_call.h"
#include "daemon/service/calls/insert_snapshot_call.h"

namespace cccl_cache::daemon {

SnapshotService::SnapshotService(BuildBackend& backend, const Peer& peer,
                                 const SnapshotSources& sources) {
  Serve("/cccl_cache.v1.Snapshot/Create", [&backend, &sources, peer](CallStream& stream) {
    auto* call = new CreateSnapshotCall(backend, sources, peer, stream);
    call->Begin();
  });
  Serve("/cccl_cache.v1.Snapshot/Insert", [&backend, &sources, peer](CallStream& stream) {
    auto* call = new InsertSnapshotCall(backend, sources, peer, stream);
    call->Begin();
  });
}

}  // namespace cccl_cache::daemon
