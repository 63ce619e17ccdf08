// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/explain_call.h"

#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "base/text.h"
#include "daemon/service/wire/build_request.h"
#include "daemon/service/wire/messages.h"

namespace cccl_cache::daemon {
namespace {}  // namespace

/// The caller's wait. The answer and the caller's leaving race, and the first ends the wait. Shared
/// with the question, which may outlive the call if a file system hangs. Thread-safe.
class ExplainCall::Wait {
 public:
  using End = std::function<void(const Result<Explanation>&)>;

  /// Returns false if the caller has left.
  bool Begin(End end) {
    const std::lock_guard lock(mutex_);
    if (left_) return false;
    end_ = std::move(end);
    return true;
  }
  void Answer(const Result<Explanation>& answer) {
    if (const End end = Take(false)) end(answer);
  }
  /// Returns true if the answer will not come.
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

ExplainCall::ExplainCall(BuildBackend& backend, Peer peer, CallStream& stream)
    : SmallCall(backend, peer.account(), stream),
      backend_(backend),
      peer_(std::move(peer)),
      wait_(std::make_shared<Wait>()) {}

void ExplainCall::OnRequest(grpc::ByteBuffer& request) {
  auto question = Read(request);
  if (!question) {
    Fail(question.error());
  } else if (question->key) {
    AskOfKey(*question->key);
  } else {
    AskOfBuild(*std::move(question));
  }
}

Result<ExplainQuestion> ExplainCall::Read(grpc::ByteBuffer& request) {
  const uint64_t size = request.Length();
  if (size > backend_.limits.message_bytes) return NotARequest();
  const auto counted = backend_.budget.Take(peer_.account(), Resource::kBytes, size);
  if (!counted) return counted.error();
  return ReadExplainRequest(request, backend_.limits, [this](const auto& digest) {
    return backend_.uploads.Find(peer_.uid, digest);
  });
}

bool ExplainCall::BeginWait() {
  if (wait_->Begin([this](const Result<Explanation>& answer) { Answer(answer); })) return true;
  Fail(Error{ErrorCode::kCancelled, "the caller left"});
  return false;
}

void ExplainCall::AskOfKey(const Digest& key) {
  if (!BeginWait()) return;
  backend_.builder.ExplainKey(
      key, peer_, [wait = wait_](const Result<Explanation>& answer) { wait->Answer(answer); });
}

void ExplainCall::AskOfBuild(ExplainQuestion question) {
  auto held = backend_.budget.Take(peer_.account(), Resource::kBytes, question.build.bytes);
  if (!held) {
    Fail(held.error());
    return;
  }
  if (!BeginWait()) return;
  // If a file system hangs, the question remains after the caller has left, and its bytes stay
  // counted.
  const auto share = std::make_shared<Share>(std::move(*held));
  // A copy: the answer can arrive, and this object be deleted, before the builder returns.
  const Peer peer = peer_;
  backend_.builder.ExplainRequest(
      std::move(question.build.request), peer,
      [wait = wait_, share](const Result<Explanation>& answer) { wait->Answer(answer); });
}

void ExplainCall::Answer(const Result<Explanation>& answer) {
  if (!answer) {
    Fail(answer.error());
    return;
  }
  reply_ = Encode(ToProto(*answer));
  if (auto counted = CountReply(reply_.Length()); !counted) {
    Fail(counted.error());
    return;
  }
  StartWriteAndFinish(&reply_, grpc::Status::OK);
}

void ExplainCall::OnLeft() {
  if (wait_->Leave()) Fail(Error{ErrorCode::kCancelled, "the caller left"});
}

}  // namespace cccl_cache::daemon
