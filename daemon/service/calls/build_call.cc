// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/build_call.h"

#include <utility>

#include "daemon/service/calls/counted_request.h"
#include "daemon/service/wire/messages.h"

namespace cccl_cache::daemon {
BuildCall::BuildCall(BuildBackend& backend, Peer peer, CallStream& stream, Form form)
    : RawCall(stream),
      backend_(backend),
      peer_(std::move(peer)),
      form_(form),
      pending_(std::make_shared<PendingBuild>(backend.builder)) {
  auto call = backend_.budget.Take(peer_.account(), Resource::kCalls);
  if (!call) {
    Fail(call.error());
    return;
  }
  call_ = std::move(*call);
  backend_.read_gate.Enter(peer_.account(), *this);
}

void BuildCall::StartReading() { StartRead(&message_); }

void BuildCall::OnReadDone(bool ok) {
  backend_.read_gate.Leave(peer_.account(), *this);
  if (!ok) {
    Fail(Error{ErrorCode::kCancelled, "the call ended before its request came"});
    return;
  }
  if (auto read = ReadRequest(); !read) {
    Fail(read.error());
    return;
  }
  StartBuild();
}

Status BuildCall::ReadRequest() {
  auto read = ReadCounted(backend_, peer_, message_, &ReadBuild);
  if (!read) return read.error();
  bytes_ = std::move(read->bytes);
  request_ = std::move(read->converted);
  return Ok{};
}

void BuildCall::StartBuild() {
  // The answer can come, and this object go, before Start returns.
  const Peer peer = peer_;
  const bool started =
      PendingBuild::Start(pending_, request_.request, peer,
                          [this](Result<BuildAnswer> answer) { Answer(std::move(answer)); });
  if (!started) Fail(Error{ErrorCode::kCancelled, "the caller left"});
}

void BuildCall::OnCancel() {
  // Where neither holds the call, what is under way ends it.
  if (backend_.read_gate.Withdraw(peer_.account(), *this) || pending_->Cancel()) {
    Fail(Error{ErrorCode::kCancelled, "the caller left"});
  }
}

void BuildCall::Answer(Result<BuildAnswer> answer) {
  request_.request.reset();
  bytes_.Release();
  if (!answer) {
    Fail(answer.error());
    return;
  }
  if (form_ == Form::kChunks) {
    chunks_.emplace(*answer, request_.wanted);
  } else {
    message_ = EncodeReply(*answer, request_.wanted, backend_.limits.message_bytes);
  }
  auto bytes = backend_.budget.Take(peer_.account(), Resource::kBytes,
                                    chunks_ ? chunks_->bytes() : message_.Length());
  if (!bytes) {
    Fail(bytes.error());
    return;
  }
  bytes_ = std::move(*bytes);
  if (chunks_) {
    SendNextChunk();
  } else {
    StartWriteAndFinish(&message_, grpc::Status::OK);
  }
}

void BuildCall::SendNextChunk() {
  if (chunks_->Next(message_)) {
    StartWrite(&message_);
  } else {
    Finish(grpc::Status::OK);
  }
}

void BuildCall::OnWriteDone(bool ok) {
  if (ok) {
    SendNextChunk();
  } else {
    Fail(Error{ErrorCode::kCancelled, "the caller left"});
  }
}

void BuildCall::Fail(const Error& error) {
  if (error.code == ErrorCode::kOverloaded) backend_.statistics.Add(Counter::kRefused);
  Finish(ToGrpcStatus(error, context()));
}

void BuildCall::OnDone() { delete this; }

}  // namespace cccl_cache::daemon
