// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/insert_snapshot_call.h"

#include <memory>

#include "cccl_cache/v1/snapshot.pb.h"
#include "daemon/service/calls/snapshot_filter.h"

namespace cccl_cache::daemon {

Status InsertSnapshotCall::Work() {
  const Result<std::unique_ptr<IncomingSnapshot>> incoming = snapshots_.Receive(Caller());
  if (!incoming) return incoming.error();
  cccl_cache::v1::SnapshotInsertRequest request;
  do {
    if (Status read = Read(request); !read) return read;
    if (Status appended = (*incoming)->Append(request.data()); !appended) return appended;
  } while (!request.last());
  const Result<SnapshotSummary> kept = (*incoming)->Finish();
  if (!kept) return kept.error();
  cccl_cache::v1::SnapshotInsertReply reply;
  ToProto(*kept, *reply.mutable_summary());
  return Write(reply);
}

}  // namespace cccl_cache::daemon
