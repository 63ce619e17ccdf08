// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Compression with zstd. Equal input gives equal output, as long as the version of zstd is the
/// same.
namespace cccl_cache {

/// The level for files that are compressed once and fetched often. Higher levels make cubins hardly
/// smaller.
inline constexpr int kStrongCompression = 12;
/// zstd's default.
inline constexpr int kFastCompression = 3;

/// Returns one zstd frame, whose header has the size of the contents. Returns none if there is no
/// memory.
[[nodiscard]] std::optional<std::string> Compress(std::string_view bytes, int level);

/// Returns the contents of `stored`. Returns none unless it is one complete frame with exactly
/// `bytes` bytes of contents. Allocates at most `bytes`, so the caller must limit that value.
/// `stored` is untrusted.
[[nodiscard]] std::optional<std::string> Decompress(std::string_view stored, uint64_t bytes);

/// Returns the first `bytes` bytes of the contents of a frame; none if the contents are shorter.
/// `stored` is untrusted. It may lack the end of the frame if these bytes do not need it.
[[nodiscard]] std::optional<std::string> DecompressFront(std::string_view stored, size_t bytes);

}  // namespace cccl_cache
