// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/wire/messages.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/wire.h"
#include "proto/field_numbers.h"

namespace cccl_cache {
namespace {

// A piece with fewer bytes is copied: that is cheaper than one more segment in the system call.
constexpr size_t kWorthReferring = 2048;

// The largest total size of a reply's artifacts in bytes. The client allocates all of their memory
// when the daemon announces the sizes, so a larger total is a protocol error.
constexpr uint64_t kMaxBuild = uint64_t{2} << 30;

}  // namespace

Error NotUnderstood(std::string_view what) {
  return {CCCL_CACHE_PROTOCOL,
          "the daemon's answer to " + std::string(what) + " can't be understood"};
}

void AppendHead(size_t size, ByteChain* body) {
  const char prefix[] = {0, static_cast<char>(size >> 24), static_cast<char>(size >> 16),
                         static_cast<char>(size >> 8), static_cast<char>(size)};
  body->Copy({prefix, sizeof(prefix)});
}

void AppendPiece(std::string_view bytes, ByteChain* body) {
  if (bytes.size() < kWorthReferring) {
    body->Copy(bytes);
  } else {
    body->Refer(bytes);
  }
}

void AppendMessage(std::string_view message, ByteChain* body) {
  AppendHead(message.size(), body);
  body->Copy(message);
}

void AppendBytesMessage(uint32_t field, std::string_view bytes, ByteChain* body,
                        std::string_view rest) {
  const std::string head = ProtoWriter().Head(field, bytes.size()).Take();
  AppendHead(head.size() + bytes.size() + rest.size(), body);
  body->Copy(head);
  body->Refer(bytes);
  body->Copy(rest);
}

void SingleMessage::Restart() {
  message_ = {};
  received_ = false;
}

bool SingleMessage::Take(Message message) {
  if (std::exchange(received_, true)) return false;
  message_ = std::move(message);
  return true;
}

void ChunkedReply::Restart() { *this = ChunkedReply(); }

bool ChunkedReply::Take(Message message) {
  ProtoReader reader(message.View());
  while (const uint32_t number = reader.Next()) {
    if (number == fields::BuildChunk::kReply && !TakeReply(reader.View())) return false;
    if (number == fields::BuildChunk::kData && !TakeData(reader.View())) return false;
  }
  return reader.ok();
}

bool ChunkedReply::complete() const { return started_ && current_ == contents_.size(); }

bool ChunkedReply::TakeReply(std::string_view reply) {
  if (std::exchange(started_, true)) return false;
  reply_ = Message::WithRoomFor(reply.size());
  reply.copy(reply_.bytes.get(), reply.size());
  ProtoReader reader(reply);
  uint64_t left = kMaxBuild;
  while (const uint32_t number = reader.Next()) {
    if (number != fields::BuildReply::kArtifacts) continue;
    ProtoReader artifact = reader.Message();
    uint64_t size = 0;
    while (const uint32_t member = artifact.Next()) {
      if (member == fields::Artifact::kSize) size = artifact.Number();
    }
    if (!artifact.ok() || size > left) return false;
    left -= size;
    contents_.push_back(Message::WithRoomFor(size));
  }
  return reader.ok() && TakeData({});
}

bool ChunkedReply::TakeData(std::string_view data) {
  if (!started_) return false;
  while (current_ < contents_.size()) {
    Message& artifact = contents_[current_];
    const size_t taken = std::min(artifact.size - received_, data.size());
    data.copy(artifact.bytes.get() + received_, taken);
    data.remove_prefix(taken);
    received_ += taken;
    if (received_ < artifact.size) return true;
    ++current_;
    received_ = 0;
  }
  return data.empty();
}

}  // namespace cccl_cache
