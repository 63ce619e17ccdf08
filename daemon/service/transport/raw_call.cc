// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/transport/raw_call.h"

#include <utility>

namespace cccl_cache::daemon {
CallStream::CallStream(Over over) : over_(std::move(over)) {}

void CallStream::Await(grpc::AsyncGenericService& service, grpc::ServerCompletionQueue& queue,
                       Completion& arrived) {
  context_.AsyncNotifyWhenDone(static_cast<Completion*>(&left_));
  service.RequestCall(&context_, &messages_, &queue, &queue, &arrived);
}

std::string_view CallStream::Field(std::string_view name) const {
  const auto& fields = context_.client_metadata();
  const auto found = fields.find(grpc::string_ref(name.data(), name.size()));
  if (found == fields.end()) return {};
  return {found->second.data(), found->second.size()};
}

void CallStream::StartRead(grpc::ByteBuffer* message) {
  operations_.fetch_add(1);
  messages_.Read(message, static_cast<Completion*>(&read_));
}

void CallStream::StartWrite(const grpc::ByteBuffer& message) {
  operations_.fetch_add(1);
  messages_.Write(message, static_cast<Completion*>(&written_));
}

void CallStream::StartWriteAndFinish(const grpc::ByteBuffer& message, const grpc::Status& status) {
  messages_.WriteAndFinish(message, grpc::WriteOptions(), status,
                           static_cast<Completion*>(&finished_));
}

void CallStream::Finish(const grpc::Status& status) {
  messages_.Finish(status, static_cast<Completion*>(&finished_));
}

void CallStream::OnRead(bool ok) { call_->OnReadDone(ok); }

void CallStream::OnWritten(bool ok) { call_->OnWriteDone(ok); }

void CallStream::OnFinished(bool /*ok*/) {}

void CallStream::OnLeft(bool /*ok*/) {
  if (context_.IsCancelled()) call_->OnCancel();
}

void CallStream::EndOperation() {
  if (operations_.fetch_sub(1) > 1) return;
  call_->OnDone();
  const Over over = over_;  // a copy, because the call destroys the stream and over_ with it
  over(*this);
}

}  // namespace cccl_cache::daemon
