// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cccl_cache/v1/snapshot.pb.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/snapshots.h"
#include "daemon/service/calls/backend.h"
#include "daemon/service/calls/blocking_call.h"
#include "daemon/service/limits/budget.h"
#include "daemon/service/transport/raw_call.h"
#include "daemon/system/blocking_pool.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// The objects that calls about snapshots use. They outlive every call.
struct SnapshotSources {
  Snapshots& snapshots;
  BlockingPool& threads;
};

/// One call of Snapshot.Create: receives the filter and the keys that are wanted or not, then sends
/// the file.
class CreateSnapshotCall final : public BlockingCall {
 public:
  CreateSnapshotCall(BuildBackend& backend, const SnapshotSources& sources, Peer peer,
                     CallStream& stream)
      : BlockingCall(backend, sources.threads, std::move(peer), stream),
        snapshots_(sources.snapshots) {}

 private:
  Status Work() override;
  [[nodiscard]] Result<SnapshotFilter> ReadFilter();
  /// Sends all full messages; the rest waits for more bytes.
  [[nodiscard]] Status Send(std::string_view bytes);
  [[nodiscard]] Status SendRest();

  Snapshots& snapshots_;
  std::string unsent_;
  Share keys_;
};

/// One call of Snapshot.Insert: receives the file, then sends the result.
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

/// kInvalidRequest names the field.
[[nodiscard]] Result<SnapshotFilter> FromProto(const cccl_cache::v1::SnapshotFilter& message);

/// Adds keys as they are sent in a field, 32 bytes each.
[[nodiscard]] Status AddKeys(const char* field, std::string_view sent, std::vector<Digest>& keys);

void ToProto(const SnapshotSummary& summary, cccl_cache::v1::SnapshotSummary& message);

}  // namespace cccl_cache::daemon
