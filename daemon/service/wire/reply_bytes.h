// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <vector>

#include "daemon/core/build/coordinator.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// A BuildReply as it goes over the wire, byte for byte what the generated code would write, but
/// with the artifacts' bytes referenced where they lie in the Artifact and not copied. Artifacts of
/// kinds that are not `wanted` (empty: all) are left out; one that would make the message larger
/// than `limit` goes without its bytes and is marked in_chunks.
[[nodiscard]] grpc::ByteBuffer EncodeReply(const BuildAnswer& answer,
                                           const std::vector<ArtifactKind>& wanted, uint64_t limit);

/// The same as a BuildManyReply with this tag.
[[nodiscard]] grpc::ByteBuffer EncodeTaggedReply(uint64_t tag, const BuildAnswer& answer,
                                                 const std::vector<ArtifactKind>& wanted,
                                                 uint64_t limit);

/// The messages of BuildInChunks, one at a time: the reply without artifacts' bytes, then the
/// bytes. Not thread-safe.
class ReplyChunks {
 public:
  static constexpr uint64_t kChunkBytes = 1u << 20;

  ReplyChunks(const BuildAnswer& answer, const std::vector<ArtifactKind>& wanted);

  /// What they hold together.
  [[nodiscard]] uint64_t bytes() const;
  /// False after the last one.
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
