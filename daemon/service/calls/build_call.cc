// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/build_call.h"

#include <utility>

#include "daemon/service/wire/messages.h"

namespace cccl_cache::daemon {
namespace {

Result<ConvertedRequest> Read(BuildBackend& backend, const Peer& peer,
                              const grpc::ByteBuffer& bytes, BuildReader read) {
  const BufferPieces pieces(bytes);
  ProtoReader message(pieces.views());
  return read(message, backend.limits,
              [&](const auto& digest) { return backend.uploads.Find(peer.uid, digest); });
}

}  // namespace

bool PendingBuild::Start(const std::shared_ptr<PendingBuild>& pending,
                         std::shared_ptr<const BuildRequest> request, const Caller& caller,
                         Answer answer) {
  // The caller's own reference may be destroyed while the builder answers.
  const std::shared_ptr<PendingBuild> self = pending;
  {
    const MutexLock lock(self->mutex_);
    if (self->cancelled_) return false;
    self->answer_ = std::move(answer);
  }
  const auto ticket =
      self->builder_.Build(std::move(request), caller,
                           [self](Result<BuildAnswer> result) { self->End(std::move(result)); });
  bool left = false;
  {
    const MutexLock lock(self->mutex_);
    self->ticket_ = ticket;
    left = self->cancelled_;
  }
  if (left) self->builder_.Leave(ticket);
  return true;
}

bool PendingBuild::Cancel() {
  Answer answer;
  BuildCoordinator::Ticket ticket = 0;
  {
    const MutexLock lock(mutex_);
    cancelled_ = true;
    answer = std::exchange(answer_, nullptr);
    ticket = ticket_;
  }
  if (answer == nullptr) return false;
  // Without a ticket, Build has not returned yet, and Start will call Leave.
  if (ticket != 0) builder_.Leave(ticket);
  return true;
}

void PendingBuild::Hold(Share call, Share bytes) {
  const MutexLock lock(mutex_);
  call_ = std::move(call);
  bytes_ = std::move(bytes);
}

void PendingBuild::End(Result<BuildAnswer> result) {
  Answer answer;
  {
    const MutexLock lock(mutex_);
    answer = std::exchange(answer_, nullptr);
  }
  if (answer != nullptr) answer(std::move(result));
}

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
  // The answer can arrive, and this object be deleted, before Start returns.
  const Peer peer = peer_;
  const bool started =
      PendingBuild::Start(pending_, request_.request, peer,
                          [this](Result<BuildAnswer> answer) { Answer(std::move(answer)); });
  if (!started) Fail(Error{ErrorCode::kCancelled, "the caller left"});
}

void BuildCall::OnCancel() {
  // If neither the gate nor the builder holds the call, the operation in progress ends it.
  const bool waited = !backend_.read_gate.Withdraw(peer_.account(), *this);
  if (waited && !pending_->Cancel()) return;
  if (waited) pending_->Hold(std::move(call_), std::move(bytes_));
  Fail(Error{ErrorCode::kCancelled, "the caller left"});
}

void BuildCall::Answer(Result<BuildAnswer> answer) {
  request_.request.reset();
  bytes_.Release();
  if (!answer) {
    Finish(ToGrpcStatus(answer.error(), context()));  // counted by the builder, if it refused
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

Result<CountedRequest> ReadCounted(BuildBackend& backend, const Peer& peer,
                                   grpc::ByteBuffer& message, BuildReader read) {
  const uint64_t size = message.Length();
  auto received = backend.budget.Take(peer.account(), Resource::kBytes, size);
  if (!received) return received.error();
  if (size > backend.limits.message_bytes) return NotARequest();
  auto converted = Read(backend, peer, message, read);
  message.Clear();
  if (!converted) return converted.error();
  received->Release();
  auto held = backend.budget.Take(peer.account(), Resource::kBytes, converted->bytes);
  if (!held) return held.error();
  return CountedRequest{*std::move(converted), *std::move(held)};
}

}  // namespace cccl_cache::daemon
