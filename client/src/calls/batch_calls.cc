// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/batch_calls.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/wire.h"
#include "client/src/transport/address.h"
#include "client/src/transport/call.h"
#include "client/src/wire/messages.h"
#include "proto/field_numbers.h"

namespace cccl_cache {
namespace {

// Returns the error in an encoded BuildError. None: the bytes are malformed.
std::optional<Error> ReadError(std::string_view bytes) {
  using Field = fields::BuildError;
  std::string_view name;
  Error error;
  ProtoReader reader(bytes);
  while (const uint32_t number = reader.Next()) {
    if (number == Field::kName) name = reader.View();
    if (number == Field::kMessage) error.message = reader.View();
    if (number == Field::kRetryMs) {
      error.retry_after_ms = static_cast<uint32_t>(std::min<uint64_t>(reader.Number(), UINT32_MAX));
    }
  }
  error.status = StatusOfName(name).value_or(CCCL_CACHE_PROTOCOL);
  if (!reader.ok()) return std::nullopt;
  return error;
}

}  // namespace

void BatchStream::Ask(uint64_t number, std::shared_ptr<const RequestMessage> request) {
  awaited_.insert(number);
  outbox_.push_back({number, std::move(request)});
}

void BatchStream::Cancel(uint64_t number) {
  if (awaited_.erase(number) == 0) return;
  const auto unsaid =
      std::find_if(outbox_.begin(), outbox_.end(),
                   [&](const OutgoingMessage& saying) { return saying.number == number; });
  if (unsaid != outbox_.end()) {
    outbox_.erase(unsaid);
  } else {
    outbox_.push_back({number, nullptr});
  }
}

const ByteChain* BatchStream::Next() {
  message_.Clear();
  said_ = {};
  if (outbox_.empty()) return nullptr;
  said_ = std::move(outbox_.front());
  outbox_.pop_front();
  if (said_.request != nullptr) {
    said_.request->AppendTaggedTo(said_.number, &message_);
  } else {
    using Field = fields::BuildManyRequest;
    AppendMessage(ProtoWriter().Number(Field::kTag, said_.number).Number(Field::kCancel, 1).bytes(),
                  &message_);
  }
  return &message_;
}

bool BatchStream::Take(Message message) {
  using Field = fields::BuildManyReply;
  uint64_t tag = 0;
  std::optional<Error> error;
  std::optional<std::string_view> reply;
  ProtoReader reader(message.View());
  while (const uint32_t number = reader.Next()) {
    if (number == Field::kTag) tag = reader.Number();
    if (number == Field::kError && !(error = ReadError(reader.View()))) return false;
    if (number == Field::kReply) reply = reader.View();
  }
  if (!reader.ok() || reply.has_value() == error.has_value()) return false;
  if (awaited_.erase(tag) == 0) return true;
  if (error) {
    answered_(tag, *std::move(error));
    return true;
  }
  // BuildReply expects the reply at the beginning of its memory, so it is moved there.
  const size_t size = reply->size();
  std::memmove(message.bytes.get(), reply->data(), size);
  message.bytes[size] = '\0';
  message.size = size;
  answered_(tag, BuildReply::Decode(std::move(message)));
  return true;
}

Exchange::Exchange(Channel::Taken taken, const Talk& talk, Readiness* readiness)
    : connection_(std::move(taken.connection)),
      reused_(taken.reused),
      readiness_(readiness),
      call_(talk.path, talk.body, talk.sink, talk.deadline, talk.source) {
  connection_->Start(&call_);
  readiness_->Watch(connection_->socket(), true);
}

Exchange::~Exchange() {
  if (connection_ != nullptr && connection_->owned()) Leave();
}

bool Exchange::Advance() {
  if (connection_->Advance(&call_)) return true;
  readiness_->Watch(connection_->socket(), connection_->wants_to_write());
  return false;
}

bool Exchange::lost() const {
  const CallEnd end = call_.end();
  return end == CallEnd::kLost || end == CallEnd::kUnsent || end == CallEnd::kRefused;
}

Error Exchange::ToError(const std::string& socket) const {
  if (call_.end() == CallEnd::kAnswered && !call_.status().ok()) return call_.status().ToError();
  if (silent()) return DaemonSilent(socket);
  return {CCCL_CACHE_PROTOCOL,
          "what listens on " + socket +
              " does not speak as agreed: is it cccl-cached, and not older than this client?"};
}

std::unique_ptr<Connection> Exchange::TakeConnection() {
  Leave();
  return std::move(connection_);
}

void Exchange::Leave() {
  connection_->Recheck();
  connection_->Finish(&call_);
  readiness_->Forget(connection_->socket());
}

}  // namespace cccl_cache
