// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/snapshot_stub.h"

#include <algorithm>

#include "client/src/calls/snapshot_upload.h"
#include "client/src/wire/messages.h"

namespace cccl_cache {
namespace {

// The protocol's bound for the data of one message.
constexpr size_t kLargestPiece = size_t{1} << 20;

void AppendRequest(CcclCache__V1__SnapshotFilter* filter, std::string_view keys, bool last,
                   ByteChain* body) {
  CcclCache__V1__SnapshotCreateRequest request = CCCL_CACHE__V1__SNAPSHOT_CREATE_REQUEST__INIT;
  request.filter = filter;
  request.known_keys = {keys.size(), reinterpret_cast<uint8_t*>(const_cast<char*>(keys.data()))};
  request.last = last;
  AppendMessage(request.base, body);
}

}  // namespace

Expected<SnapshotSummary> CreateSnapshot(Channel* channel, CcclCache__V1__SnapshotFilter* filter,
                                         std::string_view known, int fd, Deadline deadline) {
  ByteChain body;
  AppendRequest(filter, {}, known.empty(), &body);
  while (!known.empty()) {
    const std::string_view keys = known.substr(0, kLargestPiece);
    known.remove_prefix(keys.size());
    AppendRequest(nullptr, keys, known.empty(), &body);
  }
  SnapshotDownload download(fd);
  Expected<Done> called =
      channel->Invoke("/cccl_cache.v1.Snapshot/Create", body, &download, deadline);
  if (!called.ok() && !download.failure()) return std::move(called).error();
  return download.Result();
}

Expected<SnapshotSummary> InsertSnapshot(Channel* channel, int fd, uint64_t size,
                                         Deadline deadline) {
  const ByteChain nothing;
  SnapshotUpload upload(fd, size);
  Expected<Done> called =
      channel->Invoke("/cccl_cache.v1.Snapshot/Insert", nothing, &upload, deadline, &upload);
  if (upload.failure()) return *upload.failure();
  if (!called.ok()) return std::move(called).error();
  return upload.Result();
}

}  // namespace cccl_cache
