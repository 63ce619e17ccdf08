// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <vector>

#include "daemon/core/coordinator/coordinator.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// Returns an encoded BuildReply with the same bytes as from the generated code. The bytes of
/// artifacts are not copied but referenced. Artifacts of kinds that are not `wanted` (empty for
/// all) are left out. An artifact that would make the message larger than `limit` bytes is sent
/// without its bytes and marked in_chunks.
[[nodiscard]] grpc::ByteBuffer EncodeReply(const BuildAnswer& answer,
                                           const std::vector<ArtifactKind>& wanted, uint64_t limit);

/// As EncodeReply, but returns a BuildManyReply with this tag.
[[nodiscard]] grpc::ByteBuffer EncodeTaggedReply(uint64_t tag, const BuildAnswer& answer,
                                                 const std::vector<ArtifactKind>& wanted,
                                                 uint64_t limit);

/// The messages of BuildInChunks, one at a time: the reply without artifacts' bytes, then the
/// bytes. Not thread-safe.
class ReplyChunks {
 public:
  static constexpr uint64_t kChunkBytes = 1u << 20;

  ReplyChunks(const BuildAnswer& answer, const std::vector<ArtifactKind>& wanted);

  /// Returns the total bytes of all messages.
  [[nodiscard]] uint64_t bytes() const;
  /// Returns false after the last message.
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
