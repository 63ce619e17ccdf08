// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/with_files_call.h"

#include <utility>
#include <vector>

#include "daemon/service/calls/build_call.h"
#include "daemon/service/wire/messages.h"
#include "daemon/service/wire/stream_messages.h"

namespace cccl_cache::daemon {
namespace {

Error CallerLeft() { return {ErrorCode::kCancelled, "the caller, who sends its files, left"}; }

/// Reads the build of a first BuildWithFilesRequest (a BuildReader).
Result<ConvertedRequest> ReadFirst(WireInput& message, const ServiceLimits& limits,
                                   const FindUpload& find_upload) {
  constexpr uint32_t kBuild = 1;
  return ReadNestedBuild(message, kBuild, limits, find_upload);
}

}  // namespace

WithFilesCall::WithFilesCall(BuildBackend& backend, Peer peer, CallStream& stream)
    : RawCall(stream),
      backend_(backend),
      peer_(std::move(peer)),
      pending_(std::make_shared<PendingBuild>(backend.builder)),
      link_(std::make_shared<Link>()),
      exchange_(std::make_shared<FileExchange>(
          FileExchange::Options{.uid = peer_.uid,
                                .counted_as = peer_.account(),
                                .patience = backend.limits.answer_patience},
          backend.sent_contents, [link = link_] { GoOn(link); })) {
  link_->call = this;
  auto call = backend_.budget.Take(peer_.account(), Resource::kCalls);
  if (!call) {
    reading_ = Reading::kNot;
    Fail(call.error());
    return;
  }
  call_ = std::move(*call);
  gate_->Enter(peer_.account(), *this);
}

void WithFilesCall::StartReading() {
  // A copy: once the lock is free, the call may end and this object be deleted.
  const std::shared_ptr<Link> link = link_;
  ReadGate& gate = *gate_;
  const Account account = peer_.account();
  {
    const std::lock_guard lock(link->mutex);
    if (!end_) {
      reading_ = Reading::kUnderWay;
      StartRead(&message_);
      return;
    }
  }
  // Must come before the call may end.
  gate.Leave(account, *this);
  {
    const std::lock_guard lock(link->mutex);
    reading_ = Reading::kNot;
  }
  GoOn(link);
}

void WithFilesCall::OnReadDone(bool ok) {
  gate_->Leave(peer_.account(), *this);
  if (!ok) {
    {
      const std::lock_guard lock(link_->mutex);
      reading_ = Reading::kNot;
    }
    Abandon(CallerLeft());
  } else if (!started_) {
    TakeFirst();
  } else {
    TakeAnswers();
  }
}

void WithFilesCall::TakeFirst() {
  const Status read = ReadRequest();
  {
    const std::lock_guard lock(link_->mutex);
    reading_ = Reading::kNot;
    started_ = true;
    gate_ = &backend_.answer_gate;
  }
  if (!read) {
    Fail(read.error());
    return;
  }
  StartBuild();
}

Status WithFilesCall::ReadRequest() {
  auto read = ReadCounted(backend_, peer_, message_, &ReadFirst);
  if (!read) return read.error();
  bytes_ = std::move(read->bytes);
  request_ = std::move(read->converted);
  return Ok{};
}

void WithFilesCall::StartBuild() {
  const bool started =
      PendingBuild::Start(pending_, request_.request, {peer_, exchange_},
                          [this](Result<BuildAnswer> answer) { Answer(std::move(answer)); });
  if (!started) Fail(CallerLeft());
}

void WithFilesCall::TakeAnswers() {
  const Status read = ReadAnswers();
  {
    const std::lock_guard lock(link_->mutex);
    reading_ = Reading::kNot;
  }
  if (!read) {
    Abandon(read.error());
  } else {
    GoOn(link_);
  }
}

Status WithFilesCall::ReadAnswers() {
  auto bytes = backend_.budget.Take(peer_.account(), Resource::kBytes, message_.Length());
  if (!bytes) return bytes.error();
  if (auto read = ReadFileAnswers(message_, *exchange_); !read) return read;
  message_.Clear();
  bytes->Release();
  incoming_.Release();
  const uint64_t incomplete = exchange_->incomplete_bytes();
  if (incomplete == 0) return Ok{};
  auto incoming = backend_.budget.Take(peer_.account(), Resource::kBytes, incomplete);
  if (!incoming) return incoming.error();
  incoming_ = std::move(*incoming);
  return Ok{};
}

void WithFilesCall::OnCancel() { Abandon(CallerLeft()); }

void WithFilesCall::Answer(Result<BuildAnswer> answer) {
  exchange_->End(Error{ErrorCode::kCancelled, "the build is over"});
  request_.request.reset();
  bytes_.Release();
  if (!answer) {
    Fail(answer.error());
    return;
  }
  ReplyChunks chunks(*answer, request_.wanted);
  auto bytes = backend_.budget.Take(peer_.account(), Resource::kBytes, chunks.bytes());
  if (!bytes) {
    Fail(bytes.error());
    return;
  }
  const std::shared_ptr<Link> link = link_;
  {
    const std::lock_guard lock(link->mutex);
    bytes_ = std::move(*bytes);
    chunks_.emplace(std::move(chunks));
  }
  GoOn(link);
}

void WithFilesCall::OnWriteDone(bool ok) {
  bool answered = false;
  {
    const std::lock_guard lock(link_->mutex);
    writing_ = false;
    answered = chunks_ || end_;
  }
  if (ok) {
    GoOn(link_);
  } else if (answered) {
    Fail(CallerLeft());
  } else {
    Abandon(CallerLeft());
  }
}

void WithFilesCall::Abandon(const Error& error) {
  exchange_->End(error);
  bool ended = pending_->Cancel();
  {
    const std::lock_guard lock(link_->mutex);
    // No operation was started that would end the call.
    ended = ended || (!started_ && reading_ != Reading::kUnderWay);
  }
  if (ended) Fail(error);
}

void WithFilesCall::Fail(const Error& error) {
  const std::shared_ptr<Link> link = link_;
  if (error.code == ErrorCode::kOverloaded) backend_.statistics.Add(Counter::kRefused);
  {
    const std::lock_guard lock(link->mutex);
    if (!end_) end_ = ToGrpcStatus(error, context());
  }
  GoOn(link);
}

void WithFilesCall::GoOn(const std::shared_ptr<Link>& link) {
  // A copy: the call that holds the link may be deleted.
  const std::shared_ptr<Link> kept = link;
  WithFilesCall* reader = nullptr;
  {
    const std::lock_guard lock(kept->mutex);
    if (kept->call == nullptr || !kept->call->Advance()) return;
    reader = kept->call;
  }
  // The call does not end before it has had its turn or was taken out of the queue.
  reader->gate_->Enter(reader->peer_.account(), *reader);
  const std::lock_guard lock(kept->mutex);
  if (kept->call != nullptr && kept->call->end_) kept->call->FinishIfIdle();
}

bool WithFilesCall::Advance() {
  if (over_) return false;
  if (!end_ && !writing_) WriteNext();
  if (end_) {
    FinishIfIdle();
    return false;
  }
  const bool reads = reading_ == Reading::kNot && !chunks_ && exchange_->awaits_answers();
  if (reads) reading_ = Reading::kWaitsForTurn;
  return reads;
}

void WithFilesCall::WriteNext() {
  if (chunks_) {
    writing_ = chunks_->Next(written_);
    if (!writing_) end_ = grpc::Status::OK;
  } else if (const std::vector<CallerQuestion> questions = exchange_->Take(); !questions.empty()) {
    written_ = EncodeQuestions(questions);
    writing_ = true;
  }
  if (writing_) StartWrite(&written_);
}

void WithFilesCall::FinishIfIdle() {
  if (over_) return;
  if (reading_ == Reading::kWaitsForTurn && gate_->Withdraw(peer_.account(), *this)) {
    reading_ = Reading::kNot;
  }
  if (reading_ == Reading::kWaitsForTurn || writing_) return;
  over_ = true;
  Finish(*end_);
}

void WithFilesCall::OnDone() {
  exchange_->End(CallerLeft());
  // A copy: the mutex must outlive this object.
  const std::shared_ptr<Link> link = link_;
  {
    const std::lock_guard lock(link->mutex);
    link->call = nullptr;
  }
  delete this;
}

}  // namespace cccl_cache::daemon
