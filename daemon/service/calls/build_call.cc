// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/build_call.h"

#include <fmt/format.h>

#include <utility>

#include "daemon/service/wire/messages.h"
#include "daemon/service/wire/stream_messages.h"

namespace cccl_cache::daemon {
namespace {

using Form = BuildCall::Form;

/// A call of BuildMany stops reading requests while this many answers wait to be sent.
constexpr size_t kMaxUnsent = 256;

Error SenderLeft() { return {ErrorCode::kCancelled, "the caller, who sends its files, left"}; }

Result<ConvertedRequest> ReadRequest(Form form, const grpc::ByteBuffer& message,
                                     const ServiceLimits& limits, const FindUpload& find_upload) {
  const BufferPieces pieces(message);
  ProtoReader reader(pieces.views());
  if (form == Form::kMany) return ReadOfMany(reader, limits, find_upload);
  if (form == Form::kWithFiles) return ReadOfWithFiles(reader, limits, find_upload);
  return ReadBuild(reader, limits, find_upload);
}

}  // namespace

BuildCall::BuildCall(BuildBackend& backend, Peer peer, CallStream& stream, Form form)
    : StreamCall(backend, peer.account(), stream),
      backend_(backend),
      peer_(std::move(peer)),
      form_(form),
      exchange_(form != Form::kWithFiles
                    ? nullptr
                    : std::make_shared<FileExchange>(
                          FileExchange::Options{.uid = peer_.uid,
                                                .counted_as = peer_.account(),
                                                .patience = backend.limits.answer_patience},
                          backend.sent_contents,
                          [this, events = events()] { events->Post([this] { GoOn(); }); })) {
  Begin([this] {
    auto call = backend_.budget.Take(peer_.account(), Resource::kCalls);
    if (!call) return End(call.error());
    call_ = *std::move(call);
    if (form_ != Form::kMany) return Read(backend_.read_gate);
    // A message is in memory before its size is known. So each stream counts a message of the
    // maximum size.
    if (Hold(Resource::kBatches) && Hold(Resource::kBytes, backend_.limits.message_bytes)) Read();
  });
}

void BuildCall::OnMessage(grpc::ByteBuffer& message) {
  if (form_ == Form::kMany) return TakeOfMany(message);
  if (chunks_) return;
  const bool first = !std::exchange(asked_, true);
  if (const Status taken = first ? StartBuild(0, message) : TakeAnswers(message); !taken) {
    if (exchange_ != nullptr) exchange_->End(taken.error());
    return End(taken.error());
  }
  GoOn();
}

Result<ConvertedRequest> BuildCall::ReadCounted(grpc::ByteBuffer& message, Share& bytes) {
  auto received = backend_.budget.Take(peer_.account(), Resource::kBytes, message.Length());
  if (!received) return received.error();
  auto request = ReadRequest(form_, message, backend_.limits, [this](const Digest& digest) {
    return backend_.uploads.Find(peer_.uid, digest);
  });
  message.Clear();
  if (!request) return request;
  received->Release();
  auto held = backend_.budget.Take(peer_.account(), Resource::kBytes, request->bytes);
  if (!held) return held.error();
  bytes = *std::move(held);
  return request;
}

Status BuildCall::StartBuild(uint64_t tag, grpc::ByteBuffer& message) {
  Share bytes;
  auto read = ReadCounted(message, bytes);
  if (!read) return read.error();
  auto call = form_ == Form::kMany ? backend_.budget.Take(peer_.account(), Resource::kCalls)
                                   : Result<Share>(std::move(call_));
  if (!call) return call.error();
  const MemberPtr member =
      std::make_shared<Member>(Member{std::move(read->wanted), *std::move(call), std::move(bytes)});
  members_[tag] = member;
  member->ticket =
      backend_.builder.Start(std::move(read->request), {peer_, exchange_},
                             [this, events = events(), tag, member](Result<BuildAnswer> answer) {
                               // If the build is a hit, this function is called within the event
                               // that starts the build.
                               if (events->RunHere()) return Answer(tag, member, answer);
                               events->Post([this, tag, member, answer = std::move(answer)] {
                                 Answer(tag, member, answer);
                               });
                             });
  return Ok{};
}

void BuildCall::Answer(uint64_t tag, const MemberPtr& member, const Result<BuildAnswer>& answer) {
  const auto answered = members_.find(tag);
  if (answered == members_.end() || answered->second != member) return;
  members_.erase(answered);
  member->bytes.Release();
  const uint64_t limit = backend_.limits.message_bytes;
  if (form_ == Form::kMany) {
    Reply(tag,
          answer ? EncodeTaggedReply(tag, *answer, member->wanted, limit)
                 : EncodeTaggedError(tag, answer.error()),
          std::move(member->call));
    return EndIfDone();
  }
  call_ = std::move(member->call);
  if (exchange_ != nullptr) exchange_->End(Error{ErrorCode::kCancelled, "the build is over"});
  // The builder counts the requests that it refuses, so they are not counted here.
  if (!answer) return End(ToGrpcStatus(answer.error(), context()));
  if (form_ == Form::kOneMessage) return SendLast(EncodeReply(*answer, member->wanted, limit));
  chunks_.emplace(*answer, member->wanted);
  if (Hold(Resource::kBytes, chunks_->bytes())) GoOn();
}

void BuildCall::GoOn() {
  if (chunks_) {
    if (unsent() > 0) return;
    grpc::ByteBuffer chunk;
    if (!chunks_->Next(chunk)) return End();
    return Send(chunk);
  }
  if (exchange_ == nullptr) return;
  if (unsent() == 0) {
    const std::vector<CallerQuestion> questions = exchange_->Take();
    if (!questions.empty()) Send(EncodeQuestions(questions));
  }
  // These answers have their own gate, so that a caller that answers slowly does not delay other
  // kinds of calls.
  if (exchange_->awaits_answers()) Read(backend_.answer_gate);
}

Status BuildCall::TakeAnswers(grpc::ByteBuffer& message) {
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

void BuildCall::TakeOfMany(grpc::ByteBuffer& message) {
  const auto request = ReadManyRequest(message);
  if (!request) return End(request.error());
  const uint64_t tag = request->tag;
  if (request->cancel) {
    CancelBuild(tag);
  } else if (members_.contains(tag)) {
    return End(Error{ErrorCode::kInvalidRequest,
                     fmt::format("tag: a build with the tag {} is under way already", tag)});
  } else if (const Status started = StartBuild(tag, message); !started) {
    if (started.error().code == ErrorCode::kOverloaded) backend_.statistics.Add(Counter::kRefused);
    Reply(tag, EncodeTaggedError(tag, started.error()));
  }
  ReadMore();
}

void BuildCall::CancelBuild(uint64_t tag) {
  const auto member = members_.find(tag);
  if (member == members_.end()) return;
  const Builder::Ticket ticket = member->second->ticket;
  members_.erase(member);
  backend_.builder.Leave(ticket);
  Reply(tag, EncodeTaggedError(tag, {ErrorCode::kCancelled, "the caller cancelled this build"}));
  EndIfDone();
}

void BuildCall::Reply(uint64_t tag, const grpc::ByteBuffer& message, Share call) {
  auto bytes = backend_.budget.Take(peer_.account(), Resource::kBytes, message.Length());
  if (bytes) return Send(message, *std::move(bytes), std::move(call));
  backend_.statistics.Add(Counter::kRefused);
  // The bytes of this error are not counted. It is one line, each build has at most one error, and
  // the call reads no requests while more than kMaxUnsent answers wait.
  Send(EncodeTaggedError(tag, bytes.error()), {}, std::move(call));
}

void BuildCall::ReadMore() {
  if (unsent() <= kMaxUnsent) Read();
}

void BuildCall::EndIfDone() {
  if (last_read_ && members_.empty()) End();
}

void BuildCall::OnSpace() { form_ == Form::kMany ? ReadMore() : GoOn(); }

void BuildCall::OnHalfClose() {
  if (form_ == Form::kMany) {
    last_read_ = true;
    EndIfDone();
  } else if (exchange_ == nullptr) {
    StreamCall::OnHalfClose();
  } else if (!chunks_) {
    End(SenderLeft());
  }
}

void BuildCall::OnGone() {
  if (exchange_ != nullptr) exchange_->End(SenderLeft());
  for (const auto& [tag, member] : std::exchange(members_, {})) {
    backend_.builder.Leave(member->ticket);
  }
}

}  // namespace cccl_cache::daemon
