// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/explain_call.h"

#include <functional>
#include <mutex>
#include <utility>

#include "daemon/service/field_count.h"
#include "daemon/service/grpc_status.h"

namespace cccl_cached {

/// Where the answer and the caller's leaving meet: whichever comes first ends the wait. Shared with
/// the question, which may outlive the call where a file system hangs. Thread-safe.
class ExplainCall::Wait {
 public:
  using End = std::function<void(const Result<Explanation>&)>;

  /// False: the caller has left.
  bool Begin(End end) {
    const std::lock_guard lock(mutex_);
    if (left_) return false;
    end_ = std::move(end);
    return true;
  }
  void Answer(const Result<Explanation>& answer) {
    if (const End end = Take(false)) end(answer);
  }
  /// True: the answer will not come.
  bool Leave() { return Take(true) != nullptr; }

 private:
  End Take(bool leaves) {
    const std::lock_guard lock(mutex_);
    left_ = left_ || leaves;
    return std::exchange(end_, nullptr);
  }

  std::mutex mutex_;
  bool left_ = false;  // guarded by mutex_
  End end_;            // guarded by mutex_
};

ExplainCall::ExplainCall(BuildBackend& backend, Peer peer, grpc::CallbackServerContext& context)
    : backend_(backend),
      peer_(std::move(peer)),
      context_(context),
      wait_(std::make_shared<Wait>()) {
  auto call = backend_.budget.Take(peer_.uid, Resource::kCalls);
  if (!call) {
    Fail(call.error());
    return;
  }
  call_ = std::move(*call);
  backend_.read_gate.Enter(peer_.uid, *this);
}

void ExplainCall::StartReading() { StartRead(&message_); }

void ExplainCall::OnReadDone(bool ok) {
  backend_.read_gate.Leave(peer_.uid);
  if (!ok) {
    Fail(Error{ErrorCode::kCancelled, "the call ended before its request came"});
    return;
  }
  const uint64_t size = message_.Length();
  auto bytes = backend_.budget.Take(peer_.uid, Resource::kBytes, size);
  if (!bytes || size > backend_.limits.message_bytes) {
    Fail(bytes ? NotARequest() : bytes.error());
    return;
  }
  auto question = ReadExplainRequest(message_, backend_.limits, [this](const auto& digest) {
    return backend_.uploads.Find(peer_.uid, digest);
  });
  bytes->Release();
  if (!question) {
    Fail(question.error());
  } else if (question->key) {
    Answer(backend_.builder.ExplainKey(*question->key, peer_.uid));
  } else {
    Ask(*std::move(question));
  }
}

void ExplainCall::Ask(ExplainQuestion question) {
  auto held = backend_.budget.Take(peer_.uid, Resource::kBytes, question.build.bytes);
  if (!held) {
    Fail(held.error());
    return;
  }
  // The answer can come, and this object go, before the builder returns; and the question, with the
  // bytes that it is counted for, can stay when the caller has left.
  Builder& builder = backend_.builder;
  const Peer peer = peer_;
  const auto share = std::make_shared<Share>(std::move(*held));
  if (!wait_->Begin([this](const Result<Explanation>& answer) { Answer(answer); })) {
    Fail(Error{ErrorCode::kCancelled, "the caller left"});
    return;
  }
  builder.ExplainRequest(
      std::move(question.build.request), peer,
      [wait = wait_, share](const Result<Explanation>& answer) { wait->Answer(answer); });
}

void ExplainCall::Answer(const Result<Explanation>& answer) {
  if (!answer) {
    Fail(answer.error());
    return;
  }
  const std::string encoded = ToProto(*answer).SerializeAsString();
  auto bytes = backend_.budget.Take(peer_.uid, Resource::kBytes, encoded.size());
  if (!bytes) {
    Fail(bytes.error());
    return;
  }
  bytes_ = std::move(*bytes);
  const grpc::Slice slice(encoded);
  message_ = grpc::ByteBuffer(&slice, 1);
  StartWriteAndFinish(&message_, grpc::WriteOptions(), grpc::Status::OK);
}

void ExplainCall::OnCancel() {
  // Where neither holds the call, what is under way ends it.
  if (backend_.read_gate.Withdraw(peer_.uid, *this) || wait_->Leave()) {
    Fail(Error{ErrorCode::kCancelled, "the caller left"});
  }
}

void ExplainCall::Fail(const Error& error) {
  if (error.code == ErrorCode::kOverloaded) backend_.statistics.Add(Counter::kRefused);
  Finish(ToGrpcStatus(error, context_));
}

void ExplainCall::OnDone() { delete this; }

}  // namespace cccl_cached
