// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/upload_call.h"

#include <fmt/format.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <utility>

#include "cccl_cache/v1/build.pb.h"
#include "daemon/service/wire/messages.h"

namespace cccl_cache::daemon {
namespace {

/// Maximum size in bytes of the tag and length of the one field.
constexpr uint64_t kChunkHead = 16;
/// Bytes that each upload counts besides its contents, so that a million empty uploads are not
/// free.
constexpr uint64_t kOverhead = 4096;

Error CallerLeft() { return {ErrorCode::kCancelled, "the caller left"}; }

}  // namespace

UploadCall::UploadCall(BuildBackend& backend, const Peer& peer, CallStream& stream)
    : RawCall(stream), backend_(backend), peer_(peer) {
  if (auto begun = Begin(); !begun) {
    Fail(begun.error());
    return;
  }
  StartRead(&message_);
}

Status UploadCall::Begin() {
  if (peer_.uid == kOverflowUid) {
    return Error{
        ErrorCode::kDenied,
        "uid 65534 stands for many users, so nothing is kept for it: send the bytes inline"};
  }
  auto call = backend_.budget.Take(peer_.account(), Resource::kCalls);
  if (!call) return call.error();
  auto stream = backend_.budget.Take(peer_.account(), Resource::kStreams);
  if (!stream) return stream.error();
  auto kept = backend_.budget.Take(peer_.account(), Resource::kUploadBytes, kOverhead);
  if (!kept) return kept.error();
  kept_ = std::move(*kept);
  call_ = std::move(*call);
  stream_ = std::move(*stream);
  return Ok{};
}

void UploadCall::OnReadDone(bool ok) {
  if (!ok) {
    if (left_) {
      Fail(CallerLeft());
    } else {
      KeepAndReply();
    }
    return;
  }
  if (auto appended = Append(); !appended) {
    Fail(appended.error());
    return;
  }
  StartRead(&message_);
}

void UploadCall::OnCancel() {
  left_ = true;
  // The stream ended because the caller left, not because of its last chunk. So the upload is of no
  // use.
  if (digest_) backend_.uploads.Drop(peer_.uid, *digest_);
}

Status UploadCall::Append() {
  if (message_.Length() > kChunkBytes + kChunkHead) {
    return Error{ErrorCode::kInvalidRequest,
                 fmt::format("a chunk of {} bytes: at most {} of data are allowed in one",
                             message_.Length(), kChunkBytes)};
  }
  cccl_cache::v1::UploadChunk chunk;
  grpc::ProtoBufferReader reader(&message_);
  if (!chunk.ParseFromZeroCopyStream(&reader)) {
    return Error{ErrorCode::kInvalidRequest, "the message is not a cccl_cache.v1.UploadChunk"};
  }
  if (chunk.data().size() > backend_.limits.source_bytes - bytes_.size()) {
    return Error{ErrorCode::kInvalidRequest,
                 fmt::format("an upload of more than {} bytes, the most that a request can use: "
                             "split the program, or move parts of it into files that it includes",
                             backend_.limits.source_bytes)};
  }
  auto more = backend_.budget.Take(peer_.account(), Resource::kUploadBytes, chunk.data().size());
  if (!more) return more.error();
  kept_.Merge(std::move(*more));
  hasher_.Append(chunk.data());
  bytes_ += chunk.data();
  return Ok{};
}

void UploadCall::KeepAndReply() {
  cccl_cache::v1::UploadReply reply;
  digest_ = hasher_.Finish();
  reply.set_sha256(std::string(digest_->View()));
  reply.set_size(bytes_.size());
  bytes_.shrink_to_fit();
  backend_.uploads.Keep(peer_.uid, *digest_, std::move(bytes_), std::move(kept_));
  grpc::Slice slice(reply.SerializeAsString());
  message_ = grpc::ByteBuffer(&slice, 1);
  StartWriteAndFinish(&message_, grpc::Status::OK);
}

void UploadCall::Fail(const Error& error) {
  // Must come before the caller is answered, so that the user's next upload finds the room.
  kept_.Release();
  if (error.code == ErrorCode::kOverloaded) backend_.statistics.Add(Counter::kRefused);
  Finish(ToGrpcStatus(error, context()));
}

void UploadCall::OnDone() { delete this; }

}  // namespace cccl_cache::daemon
