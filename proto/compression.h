// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Compression with zstd. One version of zstd makes equal output from equal input.
namespace cccl_cache {

/// For files that are made once and fetched often; higher levels gain little with cubins.
inline constexpr int kStrongCompression = 12;
/// zstd's default.
inline constexpr int kFastCompression = 3;

/// Returns one frame, which records the size of its contents. None: out of memory.
[[nodiscard]] std::optional<std::string> Compress(std::string_view bytes, int level);

/// Returns none unless `stored` is one complete frame of exactly `bytes` bytes. Allocates at most
/// `bytes`, which the caller bounds. `stored` is untrusted.
[[nodiscard]] std::optional<std::string> Decompress(std::string_view stored, uint64_t bytes);

/// Returns the first `bytes` bytes of a frame's contents; none if there are fewer. `stored` is
/// untrusted, and may end after the needed part.
[[nodiscard]] std::optional<std::string> DecompressFront(std::string_view stored, size_t bytes);

}  // namespace cccl_cache
