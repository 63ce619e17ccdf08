// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "daemon/core/model/snapshots.h"
#include "daemon/service/calls/blocking_call.h"
#include "daemon/service/calls/snapshot_sources.h"

namespace cccl_cache::daemon {

/// One call of Snapshot.Create: the filter and the keys that are not wanted, then the file.
class CreateSnapshotCall final : public BlockingCall {
 public:
  CreateSnapshotCall(BuildBackend& backend, const SnapshotSources& sources, Peer peer,
                     CallStream& stream)
      : BlockingCall(backend, sources.threads, std::move(peer), stream),
        snapshots_(sources.snapshots) {}

 private:
  Status Work() override;
  [[nodiscard]] Result<SnapshotFilter> ReadFilter();
  /// Sends what makes full messages; the rest waits for more.
  [[nodiscard]] Status Send(std::string_view bytes);
  [[nodiscard]] Status SendRest();

  Snapshots& snapshots_;
  std::string unsent_;
  Share keys_;
};

}  // namespace cccl_cache::daemon
