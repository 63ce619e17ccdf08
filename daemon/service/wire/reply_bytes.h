// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <vector>

#include "daemon/core/coordinator/coordinator.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// Encodes a BuildReply with the same bytes as the generated code. The bytes of artifacts are
/// referenced and not copied. Only artifacts of `wanted` kinds are included (all if it is empty).
/// If an artifact would make the message larger than `limit` bytes, it is included without its
/// bytes and marked in_chunks.
[[nodiscard]] grpc::ByteBuffer EncodeReply(const BuildAnswer& answer,
                                           const std::vector<ArtifactKind>& wanted, uint64_t limit);

/// Like EncodeReply, but encodes a BuildManyReply with this tag.
[[nodiscard]] grpc::ByteBuffer EncodeTaggedReply(uint64_t tag, const BuildAnswer& answer,
                                                 const std::vector<ArtifactKind>& wanted,
                                                 uint64_t limit);

/// Produces the messages of a reply to BuildInChunks. The first message is the reply without the
/// bytes of artifacts, and the others are the bytes. Not thread-safe.
class ReplyChunks {
 public:
  static constexpr uint64_t kChunkBytes = 1u << 20;

  ReplyChunks(const BuildAnswer& answer, const std::vector<ArtifactKind>& wanted);

  /// Returns the size in bytes of all messages together.
  [[nodiscard]] uint64_t bytes() const;
  /// Stores the next message in `message`. Returns false if there are no more messages.
  [[nodiscard]] bool Next(grpc::ByteBuffer& message);

 private:
  const ArtifactPtr artifact_;
  const std::vector<const ArtifactPart*> parts_;
  grpc::ByteBuffer reply_;
  bool reply_sent_ = false;
  size_t part_ = 0;
  uint64_t offset_ = 0;
};

}  // namespace cccl_cache::daemon
