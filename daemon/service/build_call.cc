// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/build_call.h"

#include <grpcpp/support/proto_buffer_reader.h>

#include <utility>

#include "daemon/service/field_count.h"
#include "daemon/service/grpc_status.h"

namespace cccl_cached {
namespace {

/// Whatever is in a message of this size, parsing it costs little.
constexpr uint64_t kHarmlessBytes = 64u << 10;

}  // namespace

BuildCall::BuildCall(BuildBackend& backend, Peer peer, grpc::CallbackServerContext& context,
                     Form form)
    : backend_(backend),
      peer_(std::move(peer)),
      context_(context),
      form_(form),
      meeting_(std::make_shared<Meeting>()) {
  auto call = backend_.budget.Take(peer_.uid, Resource::kCalls);
  if (!call) {
    Fail(call.error());
    return;
  }
  call_ = std::move(*call);
  backend_.read_gate.Enter(peer_.uid, *this);
}

void BuildCall::StartReading() { StartRead(&message_); }

void BuildCall::OnReadDone(bool ok) {
  backend_.read_gate.Leave(peer_.uid);
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
  const uint64_t size = message_.Length();
  auto bytes = backend_.budget.Take(peer_.uid, Resource::kBytes, size);
  if (!bytes) return bytes.error();
  if (size > backend_.limits.message_bytes) return NotARequest();
  cccl_cache::v1::BuildRequest message;
  {
    if (size > kHarmlessBytes) {
      grpc::ProtoBufferReader counted(&message_);
      if (auto counts = CheckFieldCounts(counted, backend_.limits); !counts) return counts;
    }
    grpc::ProtoBufferReader parsed(&message_);
    if (!message.ParseFromZeroCopyStream(&parsed)) return NotARequest();
  }
  message_.Clear();
  auto request = FromProto(std::move(message), backend_.limits, [this](const auto& digest) {
    return backend_.uploads.Find(peer_.uid, digest);
  });
  if (!request) return request.error();
  bytes->Release();
  auto held = backend_.budget.Take(peer_.uid, Resource::kBytes, request->bytes);
  if (!held) return held.error();
  bytes_ = std::move(*held);
  request_ = std::move(*request);
  return Ok{};
}

void BuildCall::StartBuild() {
  bool gone = false;
  {
    std::lock_guard lock(meeting_->mutex);
    gone = meeting_->cancelled;
    if (!gone) meeting_->waiting = this;
  }
  if (gone) {
    Fail(Error{ErrorCode::kCancelled, "the caller left"});
    return;
  }
  // The answer can come, and this object go, before Build returns.
  const auto meeting = meeting_;
  Builder& builder = backend_.builder;
  const auto request = request_.request;
  const Peer peer = peer_;
  const auto ticket = builder.Build(request, peer, [meeting](Result<BuildAnswer> answer) {
    BuildCall* call = nullptr;
    {
      std::lock_guard lock(meeting->mutex);
      call = std::exchange(meeting->waiting, nullptr);
    }
    if (call != nullptr) call->Answer(std::move(answer));
  });
  bool left = false;
  {
    std::lock_guard lock(meeting->mutex);
    meeting->ticket = ticket;
    left = meeting->cancelled;
  }
  if (left) builder.Leave(ticket);
}

void BuildCall::OnCancel() {
  BuildCoordinator::Ticket ticket = 0;
  BuildCall* call = nullptr;
  {
    std::lock_guard lock(meeting_->mutex);
    meeting_->cancelled = true;
    call = std::exchange(meeting_->waiting, nullptr);
    ticket = meeting_->ticket;
  }
  // Not waiting: either the request is still being read, and its end will see `cancelled`, or it is
  // answered.
  if (call == nullptr) return;
  if (ticket != 0) backend_.builder.Leave(ticket);
  Fail(Error{ErrorCode::kCancelled, "the caller left"});
}

void BuildCall::Answer(Result<BuildAnswer> answer) {
  request_.request.reset();
  bytes_.Release();
  if (!answer) {
    Fail(answer.error());
    return;
  }
  auto bytes =
      backend_.budget.Take(peer_.uid, Resource::kBytes, WantedBytes(*answer, request_.wanted));
  if (!bytes) {
    Fail(bytes.error());
    return;
  }
  bytes_ = std::move(*bytes);
  if (form_ == Form::kChunks) {
    chunks_.emplace(std::move(*answer), request_.wanted);
    SendNextChunk();
    return;
  }
  message_ = EncodeReply(*answer, request_.wanted, backend_.limits.message_bytes);
  StartWriteAndFinish(&message_, grpc::WriteOptions(), grpc::Status::OK);
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
  Finish(ToGrpcStatus(error, context_));
}

void BuildCall::OnDone() { delete this; }

}  // namespace cccl_cached
