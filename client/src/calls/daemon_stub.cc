// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/daemon_stub.h"

#include <algorithm>
#include <utility>

#include "base/wire.h"
#include "client/src/calls/build_steps.h"
#include "client/src/wire/messages.h"
#include "proto/field_numbers.h"

namespace cccl_cache {
namespace {

// The protocol's limit for the data of one chunk in bytes, and the maximum size of a chunk's other
// fields.
constexpr size_t kMaxChunk = size_t{1} << 20;
constexpr size_t kChunkHead = 16;
// Maximum bytes that the reference to an uploaded blob takes in a request. Smaller blobs are not
// uploaded.
constexpr size_t kUploadName = 64;

constexpr const char* kExplainPath = "/cccl_cache.v1.Admin/Explain";

// The value SERVING of grpc.health.v1.HealthCheckResponse.
constexpr uint64_t kServing = 1;

}  // namespace

Expected<TimedReply> DaemonStub::Build(RequestMessage* request, Deadline deadline) {
  const auto start = std::chrono::steady_clock::now();
  request->InlineAll();
  BuildSteps steps(this, request);
  std::optional<Expected<BuildReply>> reply;
  while (!reply) reply = MakeCall(&steps, request, deadline);
  if (!reply->ok()) return std::move(*reply).error();
  const auto total = std::chrono::steady_clock::now() - start;
  return TimedReply{std::make_shared<const BuildReply>(**std::move(reply)),
                    std::chrono::duration_cast<std::chrono::microseconds>(total)};
}

std::optional<Expected<BuildReply>> DaemonStub::MakeCall(BuildSteps* steps, RequestMessage* request,
                                                         Deadline deadline) {
  BuildCall call(steps->next(), request, *this);
  return steps->Took(
      &call, channel_.Invoke(call.path(), call.body(), call.sink(), deadline, call.source()));
}

void DaemonStub::NoteInfo(const Message& message) {
  ProtoReader info(message.View());
  uint64_t limit = 0;
  uint64_t minor = 0;
  while (const uint32_t number = info.Next()) {
    if (number == fields::InfoReply::kApiMinor) minor = info.Number();
    if (number != fields::InfoReply::kLimits) continue;
    ProtoReader limits = info.Message();
    while (const uint32_t member = limits.Next()) {
      if (member == fields::Limits::kMessageBytes) limit = limits.Number();
    }
  }
  if (!info.ok()) return;
  if (limit != 0 && limit < message_limit_) message_limit_ = limit;
  api_minor_ = static_cast<uint32_t>(minor);
}

std::optional<uint32_t> DaemonStub::api_minor() const {
  const uint32_t minor = api_minor_;
  return minor == kUnknownMinor ? std::nullopt : std::optional(minor);
}

bool DaemonStub::Fits(const RequestMessage& request) const {
  return request.PackedSize() + RequestMessage::kAround <= message_limit_;
}

std::optional<size_t> DaemonStub::NextToSendAhead(const RequestMessage& request) const {
  if (Fits(request)) return std::nullopt;
  const std::vector<RequestMessage::Blob>& blobs = request.blobs();
  std::optional<size_t> largest;
  for (size_t i = 0; i < blobs.size(); ++i) {
    if (blobs[i].in_set && request.names_header_set()) continue;
    if (!blobs[i].upload_sha256.empty() || blobs[i].contents.size() <= kUploadName) continue;
    if (!largest || blobs[i].contents.size() > blobs[*largest].contents.size()) largest = i;
  }
  return largest;
}

void DaemonStub::AppendUpload(const ByteChain& contents, ByteChain* body) const {
  const size_t limit = message_limit_;
  const size_t chunk = limit > kChunkHead ? std::min(kMaxChunk, limit - kChunkHead) : 1;
  ByteChain::Position at;
  for (size_t left = contents.size(); left > 0;) {
    const size_t size = std::min(left, chunk);
    const std::string head = ProtoWriter().Head(fields::UploadChunk::kData, size).Take();
    AppendHead(head.size() + size, body);
    body->Copy(head);
    body->ReferTo(contents, at, size);
    at = contents.Advance(at, size);
    left -= size;
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

Expected<Message> DaemonStub::Explain(RequestMessage* request, Deadline deadline) {
  request->InlineAll();
  BuildSteps steps(this, request);
  while (true) {
    while (steps.next() < BuildStep::kBuild) {
      if (auto failed = MakeCall(&steps, request, deadline)) return std::move(*failed).error();
    }
    ByteChain body;
    request->AppendQuestionTo(&body);
    Expected<Message> message = Unary(kExplainPath, body, deadline);
    if (message.ok() || steps.Took(BuildStep::kBuild, message.error())) return message;
  }
}

Expected<Message> DaemonStub::Ask(std::string_view path, Deadline deadline) {
  ByteChain body;
  AppendMessage({}, &body);
  return Unary(path, body, deadline);
}

Expected<bool> DaemonStub::Health(Deadline deadline) {
  const Expected<Message> message = Ask("/grpc.health.v1.Health/Check", deadline);
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
