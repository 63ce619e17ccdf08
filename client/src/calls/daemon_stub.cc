// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/daemon_stub.h"

#include <algorithm>
#include <utility>

#include "base/wire.h"
#include "client/src/calls/file_answers.h"
#include "client/src/wire/messages.h"
#include "proto/field_numbers.h"

namespace cccl_cache {
namespace {

// The protocol's limit for a chunk's data, and room for the fields around it.
constexpr size_t kMaxChunk = size_t{1} << 20;
constexpr size_t kChunkHead = 16;
// Maximum size of an uploaded blob's reference in a request.
constexpr size_t kUploadName = 64;

// SERVING of grpc.health.v1.
constexpr uint64_t kServing = 1;

Error NotUnderstood(std::string_view what) {
  return {CCCL_CACHE_PROTOCOL,
          "the daemon's answer to " + std::string(what) + " can't be understood"};
}

template <typename T>
Expected<MessagePtr<T>> Unpack(T* (*unpack)(ProtobufCAllocator*, size_t, const uint8_t*),
                               const Expected<Message>& message, std::string_view what) {
  if (!message.ok()) return message.error();
  MessagePtr<T> reply(
      unpack(nullptr, message->size, reinterpret_cast<const uint8_t*>(message->bytes.get())));
  if (reply == nullptr) return NotUnderstood(what);
  return reply;
}

}  // namespace

void MessageDeleter::operator()(CcclCache__V1__ExplainReply* reply) const {
  cccl_cache__v1__explain_reply__free_unpacked(reply, nullptr);
}
void MessageDeleter::operator()(CcclCache__V1__StatsReply* reply) const {
  cccl_cache__v1__stats_reply__free_unpacked(reply, nullptr);
}
void MessageDeleter::operator()(CcclCache__V1__ToolchainsReply* reply) const {
  cccl_cache__v1__toolchains_reply__free_unpacked(reply, nullptr);
}
void MessageDeleter::operator()(CcclCache__V1__InfoReply* reply) const {
  cccl_cache__v1__info_reply__free_unpacked(reply, nullptr);
}

Expected<TimedReply> DaemonStub::Build(RequestMessage* request, Deadline deadline) {
  const auto start = std::chrono::steady_clock::now();
  Expected<BuildReply> reply = BuildOnce(request, deadline);
  if (!reply.ok() && reply.error().status == CCCL_CACHE_TOO_LARGE && LearnLimit(deadline)) {
    reply = BuildOnce(request, deadline);
  }
  // A daemon that was restarted in between has lost the uploads.
  if (!reply.ok() && reply.error().status == CCCL_CACHE_UPLOAD_NEEDED) {
    reply = BuildOnce(request, deadline);
  }
  if (!reply.ok()) return std::move(reply).error();
  const auto total = std::chrono::steady_clock::now() - start;
  return TimedReply{std::make_shared<const BuildReply>(*std::move(reply)),
                    std::chrono::duration_cast<std::chrono::microseconds>(total)};
}

Expected<BuildReply> DaemonStub::BuildOnce(RequestMessage* request, Deadline deadline) {
  Expected<Done> sent = SendAhead(request, RequestMessage::kAround, deadline);
  if (!sent.ok()) return std::move(sent).error();
  // An older daemon does not know the call.
  const auto known = [](const Expected<BuildReply>& reply) {
    return reply.ok() || reply.error().status != CCCL_CACHE_PROTOCOL;
  };
  if (elsewhere_) {
    Expected<BuildReply> reply = BuildWithFiles(*request, deadline);
    if (known(reply)) return reply;
  }
  Expected<BuildReply> reply = BuildByPath(*request, deadline);
  if (reply.ok() || reply.error().status != CCCL_CACHE_FILES_NEEDED) return reply;
  Expected<BuildReply> answered = BuildWithFiles(*request, deadline);
  if (!known(answered)) return reply;
  elsewhere_ = true;
  return answered;
}

Expected<BuildReply> DaemonStub::BuildByPath(const RequestMessage& request, Deadline deadline) {
  ByteChain body;
  request.AppendTo(&body);
  Expected<Message> message = Unary("/cccl_cache.v1.Build/Build", body, deadline);
  if (!message.ok()) return std::move(message).error();
  Expected<BuildReply> reply = BuildReply::Decode(*std::move(message));
  if (!reply.ok() || !reply->needs_chunks()) return reply;
  Expected<BuildReply> chunked = BuildInChunks(body, deadline);
  // The second reply is a hit of the artifact that the first one made. The first reply states the
  // outcome.
  if (!chunked.ok() || !reply->SameArtifacts(*chunked)) return chunked;
  reply->TakeContents(*std::move(chunked));
  return reply;
}

Expected<BuildReply> DaemonStub::BuildWithFiles(const RequestMessage& request, Deadline deadline) {
  ByteChain body;
  request.AppendWithFilesTo(&body);
  BuildConversation conversation(request);
  Expected<Done> called =
      channel_.Invoke(kWithFilesPath, body, &conversation, deadline, &conversation);
  if (!called.ok()) return std::move(called).error();
  ChunkedReply& reply = conversation.reply();
  if (!reply.complete()) return NotUnderstood("a build with files");
  return BuildReply::DecodeWithContents(std::move(reply.reply()), std::move(reply.contents()));
}

bool DaemonStub::LearnLimit(Deadline deadline) {
  ByteChain body;
  AppendEmptyMessage(&body);
  const Expected<Message> info = Unary(kInfoPath, body, deadline);
  return info.ok() && NoteLimit(*info);
}

bool DaemonStub::NoteLimit(const Message& message) {
  const MessagePtr<CcclCache__V1__InfoReply> info(cccl_cache__v1__info_reply__unpack(
      nullptr, message.size, reinterpret_cast<const uint8_t*>(message.bytes.get())));
  if (info == nullptr || info->limits == nullptr) return false;
  const size_t limit = info->limits->message_bytes;
  if (limit == 0 || limit >= message_limit_) return false;
  message_limit_ = limit;
  return true;
}

bool DaemonStub::Fits(const RequestMessage& request, size_t around) const {
  return request.PackedSize() + around <= message_limit_;
}

std::optional<RequestMessage::BlobUse> DaemonStub::NextToSendAhead(RequestMessage* request,
                                                                   size_t around) const {
  if (Fits(*request, around)) return std::nullopt;
  const RequestMessage::BlobUse* largest = nullptr;
  for (const RequestMessage::BlobUse& use : request->blobs()) {
    if (use.blob->upload_sha256.len > 0 || use.contents.size() <= kUploadName) continue;
    if (largest == nullptr || use.contents.size() > largest->contents.size()) largest = &use;
  }
  if (largest == nullptr) return std::nullopt;
  return *largest;
}

Expected<Done> DaemonStub::SendAhead(RequestMessage* request, size_t around, Deadline deadline) {
  request->InlineAll();
  while (const auto use = NextToSendAhead(request, around)) {
    Expected<std::string> sha256 = Upload(use->contents, deadline);
    if (!sha256.ok()) return std::move(sha256).error();
    request->NameUpload(*use, *std::move(sha256));
  }
  return Done{};
}

Expected<std::string> DaemonStub::Upload(std::string_view contents, Deadline deadline) {
  ByteChain body;
  AppendUpload(contents, &body);
  const Expected<Message> message = Unary(kUploadPath, body, deadline);
  if (!message.ok()) return message.error();
  return ReadUpload(*message);
}

void DaemonStub::AppendUpload(std::string_view contents, ByteChain* body) const {
  const size_t limit = message_limit_;
  const size_t chunk = limit > kChunkHead ? std::min(kMaxChunk, limit - kChunkHead) : 1;
  for (size_t start = 0; start < contents.size(); start += chunk) {
    AppendBytesMessage(fields::UploadChunk::kData, contents.substr(start, chunk), body);
  }
}

Expected<std::string> DaemonStub::ReadUpload(const Message& message) {
  ProtoReader reader(message.View());
  std::string sha256;
  while (const uint32_t number = reader.Next()) {
    if (number == fields::UploadReply::kSha256) sha256 = reader.View();
  }
  if (!reader.ok() || sha256.size() != 32) return NotUnderstood("an upload");
  return sha256;
}

Expected<BuildReply> DaemonStub::BuildInChunks(const ByteChain& body, Deadline deadline) {
  ChunkedReply sink;
  Expected<Done> called = channel_.Invoke(kInChunksPath, body, &sink, deadline);
  if (!called.ok()) return called.error();
  if (!sink.complete()) return NotUnderstood("a build in chunks");
  return BuildReply::DecodeWithContents(std::move(sink.reply()), std::move(sink.contents()));
}

Expected<MessagePtr<CcclCache__V1__ExplainReply>> DaemonStub::Explain(RequestMessage* request,
                                                                      Deadline deadline) {
  Expected<Message> message = ExplainOnce(request, deadline);
  if (!message.ok() && message.error().status == CCCL_CACHE_TOO_LARGE && LearnLimit(deadline)) {
    message = ExplainOnce(request, deadline);
  }
  return Unpack(cccl_cache__v1__explain_reply__unpack, message, "a question why");
}

Expected<Message> DaemonStub::ExplainOnce(RequestMessage* request, Deadline deadline) {
  if (Expected<Done> sent = SendAhead(request, RequestMessage::kAround, deadline); !sent.ok()) {
    return sent.error();
  }
  ByteChain body;
  request->AppendQuestionTo(&body);
  return Unary("/cccl_cache.v1.Admin/Explain", body, deadline);
}

Expected<MessagePtr<CcclCache__V1__ExplainReply>> DaemonStub::ExplainKey(std::string_view key,
                                                                         Deadline deadline) {
  ByteChain body;
  AppendBytesMessage(fields::ExplainRequest::kKey, key, &body);
  return Unpack(cccl_cache__v1__explain_reply__unpack,
                Unary("/cccl_cache.v1.Admin/Explain", body, deadline), "a question why");
}

Expected<MessagePtr<CcclCache__V1__StatsReply>> DaemonStub::Stats(Deadline deadline) {
  ByteChain body;
  AppendEmptyMessage(&body);
  return Unpack(cccl_cache__v1__stats_reply__unpack,
                Unary("/cccl_cache.v1.Admin/Stats", body, deadline), "a question for statistics");
}

Expected<MessagePtr<CcclCache__V1__ToolchainsReply>> DaemonStub::Toolchains(uint32_t driver_version,
                                                                            Deadline deadline) {
  CcclCache__V1__ToolchainsRequest request = CCCL_CACHE__V1__TOOLCHAINS_REQUEST__INIT;
  request.driver_version = driver_version;
  ByteChain body;
  AppendMessage(request.base, &body);
  return Unpack(cccl_cache__v1__toolchains_reply__unpack,
                Unary("/cccl_cache.v1.Admin/Toolchains", body, deadline),
                "a question for toolchains");
}

Expected<MessagePtr<CcclCache__V1__InfoReply>> DaemonStub::Info(Deadline deadline) {
  ByteChain body;
  AppendEmptyMessage(&body);
  return Unpack(cccl_cache__v1__info_reply__unpack, Unary(kInfoPath, body, deadline),
                "a question for its limits");
}

Expected<bool> DaemonStub::Health(Deadline deadline) {
  ByteChain body;
  AppendEmptyMessage(&body);
  const Expected<Message> message = Unary("/grpc.health.v1.Health/Check", body, deadline);
  if (!message.ok()) return message.error();
  ProtoReader reader(message->View());
  bool serving = false;
  while (const uint32_t number = reader.Next()) {
    if (number == fields::HealthCheckResponse::kStatus) serving = reader.Number() == kServing;
  }
  if (!reader.ok()) return NotUnderstood("a question for its health");
  return serving;
}

Expected<Message> DaemonStub::Unary(std::string_view path, const ByteChain& body,
                                    Deadline deadline) {
  SingleMessage sink;
  Expected<Done> called = channel_.Invoke(path, body, &sink, deadline);
  if (!called.ok()) return std::move(called).error();
  if (!sink.received()) return NotUnderstood("a call");
  return std::move(sink.message());
}

}  // namespace cccl_cache
