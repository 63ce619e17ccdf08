// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/reply_bytes.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/slice.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/service/convert.h"

namespace cccl_cached {
namespace {

using google::protobuf::internal::WireFormatLite;
namespace v1 = cccl_cache::v1;

/// Both are the last field of their message, so that hand-written bytes after the generated ones
/// are in order.
static_assert(v1::BuildReply::kArtifactsFieldNumber == 15);
static_assert(v1::Artifact::kContentsFieldNumber == 15);
static_assert(v1::BuildManyReply::kReplyFieldNumber == 15);

/// Kind, size, digest, mark, and the tags and lengths around them.
constexpr uint64_t kLongestArtifactHead = 96;
/// A tag, and what stands before the reply that it belongs to.
constexpr uint64_t kLongestTag = 32;

/// Part of the artifact's own bytes; keeps the artifact alive until gRPC has sent them.
grpc::Slice SliceOf(const ArtifactPtr& artifact, std::string_view bytes) {
  auto* owner = new ArtifactPtr(artifact);
  return grpc::Slice(
      const_cast<char*>(bytes.data()), bytes.size(),
      [](void* pointer) { delete static_cast<ArtifactPtr*>(pointer); }, owner);
}

/// Tag and length of a length-delimited field.
std::string FieldHead(int number, uint64_t length) {
  uint8_t buffer[16];
  uint8_t* end = google::protobuf::io::CodedOutputStream::WriteTagToArray(
      WireFormatLite::MakeTag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED), buffer);
  end = google::protobuf::io::CodedOutputStream::WriteVarint64ToArray(length, end);
  return {reinterpret_cast<char*>(buffer), reinterpret_cast<char*>(end)};
}

std::vector<const ArtifactPart*> WantedParts(const BuildAnswer& answer,
                                             const std::vector<cccl_cache::ArtifactKind>& wanted) {
  std::vector<const ArtifactPart*> parts;
  if (answer.artifact == nullptr) return parts;
  for (const ArtifactPart& part : answer.artifact->parts) {
    if (wanted.empty() || std::ranges::find(wanted, part.kind) != wanted.end()) {
      parts.push_back(&part);
    }
  }
  return parts;
}

/// Field 15 of BuildReply up to the artifact's own bytes, which follow if `with_contents`.
std::string ArtifactHead(const ArtifactPart& part, bool with_contents) {
  v1::Artifact description = ToProto(part);
  description.set_in_chunks(!with_contents);
  std::string inner = description.SerializeAsString();
  uint64_t length = inner.size();
  if (with_contents && !part.bytes.empty()) {
    inner += FieldHead(v1::Artifact::kContentsFieldNumber, part.bytes.size());
    length = inner.size() + part.bytes.size();
  }
  return FieldHead(v1::BuildReply::kArtifactsFieldNumber, length) + inner;
}

}  // namespace

grpc::ByteBuffer EncodeReply(const BuildAnswer& answer,
                             const std::vector<cccl_cache::ArtifactKind>& wanted, uint64_t limit) {
  const auto parts = WantedParts(answer, wanted);
  std::vector<grpc::Slice> slices;
  std::string head = ToProto(answer).SerializeAsString();
  // What the descriptions of all artifacts need is set aside first: these always go.
  uint64_t size = head.size() + parts.size() * kLongestArtifactHead;
  for (const ArtifactPart* part : parts) {
    const bool fits = size <= limit && part->bytes.size() <= limit - size;
    head += ArtifactHead(*part, fits);
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
                                   const std::vector<cccl_cache::ArtifactKind>& wanted,
                                   uint64_t limit) {
  const grpc::ByteBuffer reply = EncodeReply(answer, wanted, limit - std::min(limit, kLongestTag));
  v1::BuildManyReply head;
  head.set_tag(tag);
  std::vector<grpc::Slice> slices;
  // Both are buffers of our own in memory: nothing that could fail.
  static_cast<void>(reply.Dump(&slices));
  slices.insert(slices.begin(),
                grpc::Slice(head.SerializeAsString() +
                            FieldHead(v1::BuildManyReply::kReplyFieldNumber, reply.Length())));
  return {slices.data(), slices.size()};
}

ReplyChunks::ReplyChunks(const BuildAnswer& answer,
                         const std::vector<cccl_cache::ArtifactKind>& wanted)
    : artifact_(answer.artifact), parts_(WantedParts(answer, wanted)) {
  v1::BuildChunk chunk;
  *chunk.mutable_reply() = ToProto(answer);
  for (const ArtifactPart* part : parts_) {
    auto* description = chunk.mutable_reply()->add_artifacts();
    *description = ToProto(*part);
    description->set_in_chunks(true);
  }
  grpc::Slice slice(chunk.SerializeAsString());
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
  grpc::Slice slices[] = {grpc::Slice(FieldHead(v1::BuildChunk::kDataFieldNumber, bytes.size())),
                          SliceOf(artifact_, bytes)};
  message = grpc::ByteBuffer(slices, std::size(slices));
  return true;
}

}  // namespace cccl_cached
