// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/digest.h"

namespace cccl_cache::daemon {

/// A deposit above the limit of one entry is split into chunks of this size; the last one may be
/// shorter. Each is compressed and stored alone, so that no value is large and no answer waits long
/// behind another.
inline constexpr uint64_t kDepositChunkBytes = 1 << 20;
/// Limit of a compressed chunk, in bytes.
inline constexpr uint64_t kMaxStoredChunk = kDepositChunkBytes + (8 << 10);

/// The list of a deposit's chunks. It is the contents of a signed entry, and so vouches for them.
struct ChunkList {
  uint64_t size = 0;           ///< of the deposit, in bytes
  std::vector<Digest> chunks;  ///< of the compressed chunks, in order

  /// Returns the size of a chunk before compression, in bytes.
  [[nodiscard]] uint64_t SizeOf(size_t index) const;
};

[[nodiscard]] std::string EncodeChunkList(const ChunkList& list);
/// Returns none unless all bytes are a list of a deposit of at most `max_bytes`. `bytes` are not
/// trusted.
[[nodiscard]] std::optional<ChunkList> DecodeChunkList(std::string_view bytes, uint64_t max_bytes);

/// Returns the chunk with this number as it is stored. None if there is no memory.
[[nodiscard]] std::optional<std::string> StoreChunk(std::string_view deposit, size_t index);
/// Returns the contents of a chunk. None if `stored`, which is not trusted, is not the chunk in the
/// list.
[[nodiscard]] std::optional<std::string> OpenChunk(const ChunkList& list, size_t index,
                                                   std::string_view stored);

}  // namespace cccl_cache::daemon
