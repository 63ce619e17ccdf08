// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/unary_call.h"

#include <utility>

#include "daemon/service/wire/messages.h"

namespace cccl_cache::daemon {
void SmallCall::Begin() {
  auto call = backend_.budget.Take(account_, Resource::kCalls);
  if (!call) {
    Fail(call.error());
    return;
  }
  call_ = std::move(*call);
  backend_.read_gate.Enter(account_, *this);
}

void SmallCall::StartReading() { StartRead(&request_); }

void SmallCall::OnReadDone(bool ok) {
  backend_.read_gate.Leave(account_, *this);
  if (ok) {
    OnRequest(request_);
  } else {
    Fail(Error{ErrorCode::kCancelled, "the call ended before its request came"});
  }
}

void SmallCall::OnCancel() {
  if (backend_.read_gate.Withdraw(account_, *this)) {
    Fail(Error{ErrorCode::kCancelled, "the caller left"});
  } else {
    OnLeft();
  }
}

Status SmallCall::CountReply(uint64_t bytes) {
  auto share = backend_.budget.Take(account_, Resource::kBytes, bytes);
  if (!share) return share.error();
  bytes_ = std::move(*share);
  return Ok{};
}

void SmallCall::Fail(const Error& error) {
  if (error.code == ErrorCode::kOverloaded) backend_.statistics.Add(Counter::kRefused);
  Finish(ToGrpcStatus(error, context()));
}

void SmallCall::OnDone() { delete this; }

void UnaryCall::OnRequest(grpc::ByteBuffer& request) {
  const auto decoded = (*method_)(
      request, [this](const grpc::Status& status, const google::protobuf::MessageLite& reply) {
        End(status, reply);
      });
  if (!decoded) Fail(decoded.error());
}

void UnaryCall::End(const grpc::Status& status, const google::protobuf::MessageLite& reply) {
  if (!status.ok()) {
    Finish(status);
    return;
  }
  reply_ = Encode(reply);
  if (auto counted = CountReply(reply_.Length()); !counted) {
    Fail(counted.error());
    return;
  }
  StartWriteAndFinish(&reply_, grpc::Status::OK);
}

}  // namespace cccl_cache::daemon
