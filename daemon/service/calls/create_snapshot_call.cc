// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/create_snapshot_call.h"

#include <algorithm>
#include <utility>

#include "cccl_cache/v1/snapshot.pb.h"
#include "daemon/service/calls/snapshot_filter.h"

namespace cccl_cache::daemon {

namespace v1 = cccl_cache::v1;

Status CreateSnapshotCall::Work() {
  const Result<SnapshotFilter> filter = ReadFilter();
  if (!filter) return filter.error();
  const Result<SnapshotSummary> made =
      snapshots_.Create(Caller(), *filter, [this](std::string_view bytes) { return Send(bytes); });
  if (!made) return made.error();
  if (Status sent = SendRest(); !sent) return sent;
  v1::SnapshotCreateReply reply;
  ToProto(*made, *reply.mutable_summary());
  return Write(reply);
}

Result<SnapshotFilter> CreateSnapshotCall::ReadFilter() {
  v1::SnapshotCreateRequest request;
  if (Status read = Read(request); !read) return read.error();
  Result<SnapshotFilter> filter = FromProto(request.filter());
  if (!filter) return filter;
  while (true) {
    auto bytes =
        backend().budget.Take(peer().account(), Resource::kBytes, request.known_keys().size());
    if (!bytes) return bytes.error();
    keys_.Merge(std::move(*bytes));
    if (Status added = AddKnownKeys(request.known_keys(), *filter); !added) return added.error();
    if (request.last()) break;
    if (Status read = Read(request); !read) return read.error();
  }
  std::ranges::sort(filter->known);
  return filter;
}

Status CreateSnapshotCall::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t taken = std::min<size_t>(bytes.size(), kChunkBytes - unsent_.size());
    unsent_.append(bytes.substr(0, taken));
    bytes.remove_prefix(taken);
    if (unsent_.size() < kChunkBytes) break;
    if (Status sent = SendRest(); !sent) return sent;
  }
  return Ok{};
}

Status CreateSnapshotCall::SendRest() {
  if (unsent_.empty()) return Ok{};
  v1::SnapshotCreateReply reply;
  reply.set_data(std::exchange(unsent_, {}));
  return Write(reply);
}

}  // namespace cccl_cache::daemon
