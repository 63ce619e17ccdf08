// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/with_files_call.h"

#include <utility>
#include <vector>

#include "daemon/service/calls/build_call.h"
#include "daemon/service/wire/messages.h"
#include "daemon/service/wire/stream_messages.h"
#include "proto/field_numbers.h"

namespace cccl_cache::daemon {
namespace {

Error SenderLeft() { return {ErrorCode::kCancelled, "the caller, who sends its files, left"}; }

/// Reads the build of a first BuildWithFilesRequest (a BuildReader).
Result<ConvertedRequest> ReadFirst(ProtoReader& message, const ServiceLimits& limits,
                                   const FindUpload& find_upload) {
  return ReadNestedBuild(message, fields::BuildWithFilesRequest::kBuild, limits, find_upload);
}

}  // namespace

WithFilesCall::WithFilesCall(BuildBackend& backend, Peer peer, CallStream& stream)
    : StreamCall(backend, peer.account(), stream),
      backend_(backend),
      peer_(std::move(peer)),
      exchange_(std::make_shared<FileExchange>(
          FileExchange::Options{.uid = peer_.uid,
                                .counted_as = peer_.account(),
                                .patience = backend.limits.answer_patience},
          backend.sent_contents, [this, events = events()] { events->Post([this] { GoOn(); }); })) {
  Begin([this] {
    if (Hold(Resource::kCalls)) Read(backend_.read_gate);
  });
}

void WithFilesCall::OnMessage(grpc::ByteBuffer& message) {
  if (chunks_) return;
  if (const Status taken = ticket_ == 0 ? StartBuild(message) : TakeAnswers(message); !taken) {
    exchange_->End(taken.error());
    return End(taken.error());
  }
  GoOn();
}

Status WithFilesCall::StartBuild(grpc::ByteBuffer& message) {
  auto read = ReadCounted(backend_, peer_, message, &ReadFirst);
  if (!read) return read.error();
  bytes_ = std::move(read->bytes);
  wanted_ = std::move(read->converted.wanted);
  ticket_ =
      backend_.builder.Build(std::move(read->converted.request), {peer_, exchange_},
                             [this, events = events()](Result<BuildAnswer> answer) {
                               events->Post([this, answer = std::move(answer)] { Answer(answer); });
                             });
  return Ok{};
}

Status WithFilesCall::TakeAnswers(grpc::ByteBuffer& message) {
  auto bytes = backend_.budget.Take(peer_.account(), Resource::kBytes, message.Length());
  if (!bytes) return bytes.error();
  if (auto read = ReadFileAnswers(message, *exchange_); !read) return read;
  message.Clear();
  bytes->Release();
  incoming_.Release();
  const uint64_t incomplete = exchange_->incomplete_bytes();
  if (incomplete == 0) return Ok{};
  auto incoming = backend_.budget.Take(peer_.account(), Resource::kBytes, incomplete);
  if (!incoming) return incoming.error();
  incoming_ = std::move(*incoming);
  return Ok{};
}

void WithFilesCall::Answer(const Result<BuildAnswer>& answer) {
  exchange_->End(Error{ErrorCode::kCancelled, "the build is over"});
  bytes_.Release();
  if (!answer) return End(answer.error());
  chunks_.emplace(*answer, wanted_);
  auto bytes = backend_.budget.Take(peer_.account(), Resource::kBytes, chunks_->bytes());
  if (!bytes) return End(bytes.error());
  bytes_ = std::move(*bytes);
  GoOn();
}

void WithFilesCall::GoOn() {
  if (unsent() == 0 && chunks_) {
    grpc::ByteBuffer chunk;
    if (!chunks_->Next(chunk)) return End();
    Send(chunk);
  } else if (unsent() == 0) {
    const std::vector<CallerQuestion> questions = exchange_->Take();
    if (!questions.empty()) Send(EncodeQuestions(questions));
  }
  // At a gate of its own: a caller that is slow to answer must not hold up other kinds of call.
  if (!chunks_ && exchange_->awaits_answers()) Read(backend_.answer_gate);
}

void WithFilesCall::OnHalfClose() {
  if (!chunks_) End(SenderLeft());
}

void WithFilesCall::OnGone() {
  exchange_->End(SenderLeft());
  if (ticket_ != 0) backend_.builder.Leave(ticket_);
}

}  // namespace cccl_cache::daemon
