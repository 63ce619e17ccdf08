// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/model/snapshots.h"
#include "daemon/service/calls/blocking_call.h"
#include "daemon/service/calls/snapshot_sources.h"

namespace cccl_cache::daemon {

/// One call of Snapshot.Insert: the file, then what became of it.
class InsertSnapshotCall final : public BlockingCall {
 public:
  InsertSnapshotCall(BuildBackend& backend, const SnapshotSources& sources, Peer peer,
                     CallStream& stream)
      : BlockingCall(backend, sources.threads, std::move(peer), stream),
        snapshots_(sources.snapshots) {}

 private:
  Status Work() override;

  Snapshots& snapshots_;
};

}  // namespace cccl_cache::daemon
