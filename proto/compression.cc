// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/compression.h"

#include <zstd.h>

#include <memory>

namespace cccl_cache {

std::optional<std::string> Compress(std::string_view bytes, int level) {
  std::string stored(ZSTD_compressBound(bytes.size()), '\0');
  const size_t size =
      ZSTD_compress(stored.data(), stored.size(), bytes.data(), bytes.size(), level);
  if (ZSTD_isError(size) != 0) return std::nullopt;
  stored.resize(size);
  return stored;
}

std::optional<std::string> Decompress(std::string_view stored, uint64_t bytes) {
  const void* const data = stored.data();
  if (ZSTD_findFrameCompressedSize(data, stored.size()) != stored.size()) return std::nullopt;
  if (ZSTD_getFrameContentSize(data, stored.size()) != bytes) return std::nullopt;
  std::string whole(bytes, '\0');
  const size_t size = ZSTD_decompress(whole.data(), whole.size(), data, stored.size());
  if (ZSTD_isError(size) != 0 || size != bytes) return std::nullopt;
  return whole;
}

std::optional<std::string> DecompressFront(std::string_view stored, size_t bytes) {
  const std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream(ZSTD_createDStream(),
                                                                          &ZSTD_freeDStream);
  if (stream == nullptr) return std::nullopt;
  std::string front(bytes, '\0');
  ZSTD_outBuffer out{front.data(), front.size(), 0};
  ZSTD_inBuffer in{stored.data(), stored.size(), 0};
  while (out.pos < out.size) {
    const size_t before = out.pos + in.pos;
    if (ZSTD_isError(ZSTD_decompressStream(stream.get(), &out, &in)) != 0) return std::nullopt;
    if (out.pos + in.pos == before) return std::nullopt;  // the input is too short
  }
  return front;
}

}  // namespace cccl_cache
