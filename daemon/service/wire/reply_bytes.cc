// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/wire/reply_bytes.h"

#include <grpcpp/support/slice.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/wire.h"
#include "daemon/service/wire/build_reply.h"
#include "proto/field_numbers.h"

namespace cccl_cache::daemon {
namespace {

/// Maximum bytes of an encoded artifact without its contents: the fields kind, size, sha256 and
/// in_chunks, with all tags and lengths.
constexpr uint64_t kMaxArtifactHead = 96;
/// Maximum bytes that a BuildManyReply adds to the reply of a build: the tag, and the reply's head.
constexpr uint64_t kMaxTag = 32;

/// Returns a slice that refers to a part of the artifact's bytes without a copy. The slice keeps
/// the artifact alive until gRPC has sent it.
grpc::Slice SliceOf(const ArtifactPtr& artifact, std::string_view bytes) {
  auto* owner = new ArtifactPtr(artifact);
  return grpc::Slice(
      const_cast<char*>(bytes.data()), bytes.size(),
      [](void* pointer) { delete static_cast<ArtifactPtr*>(pointer); }, owner);
}

std::vector<const ArtifactPart*> WantedParts(const BuildAnswer& answer,
                                             const std::vector<ArtifactKind>& wanted) {
  std::vector<const ArtifactPart*> parts;
  if (answer.artifact == nullptr) return parts;
  for (const ArtifactPart& part : answer.artifact->parts) {
    if (wanted.empty() || std::ranges::find(wanted, part.kind) != wanted.end()) {
      parts.push_back(&part);
    }
  }
  return parts;
}

}  // namespace

grpc::ByteBuffer EncodeReply(const BuildAnswer& answer, const std::vector<ArtifactKind>& wanted,
                             uint64_t limit) {
  const auto parts = WantedParts(answer, wanted);
  std::vector<grpc::Slice> slices;
  std::string head = EncodeReplyHead(answer);
  // Every artifact is described in the reply, with or without its bytes. So the room for all
  // descriptions is reserved first.
  uint64_t size = head.size() + parts.size() * kMaxArtifactHead;
  for (const ArtifactPart* part : parts) {
    const bool fits = size <= limit && part->bytes.size() <= limit - size;
    head += EncodeArtifactHead(*part, fits ? ArtifactBytes::kFollow : ArtifactBytes::kInChunks);
    if (!fits || part->bytes.empty()) continue;
    size += part->bytes.size();
    slices.emplace_back(head);
    slices.push_back(SliceOf(answer.artifact, part->bytes));
    head.clear();
  }
  if (!head.empty() || slices.empty()) slices.emplace_back(head);
  return {slices.data(), slices.size()};
}

grpc::ByteBuffer EncodeTaggedReply(uint64_t tag, const BuildAnswer& answer,
                                   const std::vector<ArtifactKind>& wanted, uint64_t limit) {
  const grpc::ByteBuffer reply = EncodeReply(answer, wanted, limit - std::min(limit, kMaxTag));
  using Field = fields::BuildManyReply;
  const ProtoWriter head =
      ProtoWriter().Number(Field::kTag, tag).Head(Field::kReply, reply.Length());
  std::vector<grpc::Slice> slices;
  // Both buffers are in memory, so Dump cannot fail.
  static_cast<void>(reply.Dump(&slices));
  slices.insert(slices.begin(), grpc::Slice(head.bytes()));
  return {slices.data(), slices.size()};
}

ReplyChunks::ReplyChunks(const BuildAnswer& answer, const std::vector<ArtifactKind>& wanted)
    : artifact_(answer.artifact), parts_(WantedParts(answer, wanted)) {
  std::string reply = EncodeReplyHead(answer);
  for (const ArtifactPart* part : parts_) {
    reply += EncodeArtifactHead(*part, ArtifactBytes::kInChunks);
  }
  const ProtoWriter chunk = ProtoWriter().Message(fields::BuildChunk::kReply, reply);
  grpc::Slice slice(chunk.bytes());
  reply_ = grpc::ByteBuffer(&slice, 1);
}

uint64_t ReplyChunks::bytes() const {
  uint64_t bytes = reply_.Length();
  for (const ArtifactPart* part : parts_) bytes += part->bytes.size();
  return bytes;
}

bool ReplyChunks::Next(grpc::ByteBuffer& message) {
  if (!reply_sent_) {
    reply_sent_ = true;
    message = reply_;
    return true;
  }
  while (part_ < parts_.size() && offset_ == parts_[part_]->bytes.size()) {
    ++part_;
    offset_ = 0;
  }
  if (part_ == parts_.size()) return false;
  const auto bytes = std::string_view(parts_[part_]->bytes).substr(offset_, kChunkBytes);
  offset_ += bytes.size();
  const ProtoWriter head = ProtoWriter().Head(fields::BuildChunk::kData, bytes.size());
  grpc::Slice slices[] = {grpc::Slice(head.bytes()), SliceOf(artifact_, bytes)};
  message = grpc::ByteBuffer(slices, std::size(slices));
  return true;
}

}  // namespace cccl_cache::daemon
