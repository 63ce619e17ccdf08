// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/wire/message_sinks.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "client/src/wire/wire_reader.h"

namespace cccl_cache {
namespace {

// Numbers in build.proto.
constexpr uint32_t kChunkReply = 1;
constexpr uint32_t kChunkData = 2;
constexpr uint32_t kReplyArtifacts = 15;
constexpr uint32_t kArtifactSize = 2;

// Memory for what a daemon announces is taken at once: beyond this, all artifacts together, it is
// no daemon of ours.
constexpr uint64_t kLargestBuild = uint64_t{2} << 30;

}  // namespace

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
  WireReader reader(message.View());
  WireField field;
  while (reader.Next(&field)) {
    if (!field.is_bytes) continue;
    if (field.number == kChunkReply && !TakeReply(field.bytes)) return false;
    if (field.number == kChunkData && !TakeData(field.bytes)) return false;
  }
  return !reader.malformed();
}

bool ChunkedReply::complete() const { return started_ && current_ == contents_.size(); }

bool ChunkedReply::TakeReply(std::string_view reply) {
  if (std::exchange(started_, true)) return false;
  reply_ = Message::WithRoomFor(reply.size());
  reply.copy(reply_.bytes.get(), reply.size());
  WireReader reader(reply);
  WireField field;
  uint64_t left = kLargestBuild;
  while (reader.Next(&field)) {
    if (field.number != kReplyArtifacts || !field.is_bytes) continue;
    WireReader artifact(field.bytes);
    WireField member;
    uint64_t size = 0;
    while (artifact.Next(&member)) {
      if (member.number == kArtifactSize) size = member.value;
    }
    if (artifact.malformed() || size > left) return false;
    left -= size;
    contents_.push_back(Message::WithRoomFor(size));
  }
  return !reader.malformed() && TakeData({});
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
