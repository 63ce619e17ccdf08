// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/model/artifact.h"

namespace cccl_cache::daemon {
size_t Artifact::Footprint() const {
  constexpr size_t kOverhead = 64;  // estimated bytes that the allocator adds to each heap object
  size_t bytes = sizeof(Artifact) + log.capacity() + kOverhead;
  for (const ArtifactPart& part : parts) bytes += sizeof(part) + part.bytes.capacity() + kOverhead;
  for (const auto& [expression, lowered] : lowered_names) {
    bytes += sizeof(expression) * 2 + expression.capacity() + lowered.capacity() + kOverhead;
  }
  return bytes;
}

}  // namespace cccl_cache::daemon
