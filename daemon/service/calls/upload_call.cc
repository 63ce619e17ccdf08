// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/upload_call.h"

#include <fmt/format.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <utility>

#include "cccl_cache/v1/build.pb.h"
#include "daemon/service/wire/messages.h"

namespace cccl_cache::daemon {
namespace {

/// Maximum size of what a chunk has besides its data, in bytes: the tag and the length of its only
/// field.
constexpr uint64_t kChunkHead = 16;
/// Bytes that each upload counts in addition to its contents, so that many empty uploads are not
/// free.
constexpr uint64_t kOverhead = 4096;

}  // namespace

UploadCall::UploadCall(BuildBackend& backend, const Peer& peer, CallStream& stream)
    : StreamCall(backend, peer.account(), stream), backend_(backend), peer_(peer) {
  Begin([this] {
    if (peer_.uid == kOverflowUid) {
      return End(Error{
          ErrorCode::kDenied,
          "uid 65534 stands for many users, so nothing is kept for it: send the bytes inline"});
    }
    if (!Hold(Resource::kCalls) || !Hold(Resource::kStreams)) return;
    auto kept = backend_.budget.Take(peer_.account(), Resource::kUploadBytes, kOverhead);
    if (!kept) return End(kept.error());
    kept_ = std::move(*kept);
    Read();
  });
}

UploadCall::~UploadCall() {
  // The caller left before it received the reply, so the upload is of no use.
  if (digest_ && context().IsCancelled()) backend_.uploads.Drop(peer_.uid, *digest_);
}

void UploadCall::OnMessage(grpc::ByteBuffer& message) {
  if (const Status appended = Append(message); !appended) return End(appended.error());
  Read();
}

Status UploadCall::Append(grpc::ByteBuffer& message) {
  if (message.Length() > kChunkBytes + kChunkHead) {
    return Error{ErrorCode::kInvalidRequest,
                 fmt::format("a chunk of {} bytes: at most {} of data are allowed in one",
                             message.Length(), kChunkBytes)};
  }
  cccl_cache::v1::UploadChunk chunk;
  grpc::ProtoBufferReader reader(&message);
  if (!chunk.ParseFromZeroCopyStream(&reader)) {
    return Error{ErrorCode::kInvalidRequest, "the message is not a cccl_cache.v1.UploadChunk"};
  }
  const uint64_t most = std::max(backend_.limits.source_bytes, backend_.limits.header_set_bytes);
  if (chunk.data().size() > most - bytes_.size()) {
    return Error{ErrorCode::kInvalidRequest,
                 fmt::format("an upload of more than {} bytes, the most that a request can use "
                             "(the daemon's source_limit or header_set_limit): split the program, "
                             "or move parts of it into files that it includes",
                             most)};
  }
  auto more = backend_.budget.Take(peer_.account(), Resource::kUploadBytes, chunk.data().size());
  if (!more) return more.error();
  kept_.Merge(std::move(*more));
  hasher_.Append(chunk.data());
  bytes_ += chunk.data();
  return Ok{};
}

void UploadCall::OnHalfClose() {
  cccl_cache::v1::UploadReply reply;
  digest_ = hasher_.Finish();
  reply.set_sha256(std::string(digest_->View()));
  reply.set_size(bytes_.size());
  bytes_.shrink_to_fit();
  backend_.uploads.Keep(peer_.uid, *digest_, std::move(bytes_), std::move(kept_));
  Send(Encode(reply));
  End();
}

}  // namespace cccl_cache::daemon
