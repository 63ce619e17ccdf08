// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/deposit_chunks.h"

#include <algorithm>

#include "base/codec.h"
#include "proto/compression.h"

namespace cccl_cache::daemon {
namespace {

// The format, version 1 (values: base/codec.h).
//
//   list    = version size digest*
//   version = u32                    1; another number if the format or the size of a chunk changes
//   size    = u64                    of the deposit; at least 1
//   digest  = 32 bytes               SHA-256 of a stored chunk, one for each 1 MiB begun
//   chunk   = one zstd frame that states its content size
constexpr uint32_t kListVersion = 1;

}  // namespace

uint64_t ChunkList::SizeOf(size_t index) const {
  return std::min(kDepositChunkBytes, size - index * kDepositChunkBytes);
}

std::string EncodeChunkList(const ChunkList& list) {
  ByteWriter writer;
  writer.Put(kListVersion).Put(list.size);
  for (const Digest& chunk : list.chunks) writer.Bytes(chunk.View());
  return writer.Joined();
}

std::optional<ChunkList> DecodeChunkList(std::string_view bytes, uint64_t max_bytes) {
  ByteReader reader(bytes);
  if (reader.Take<uint32_t>() != kListVersion) return std::nullopt;
  ChunkList list{.size = reader.Take<uint64_t>(), .chunks = {}};
  if (list.size == 0 || list.size > max_bytes) return std::nullopt;
  const uint64_t chunks = (list.size - 1) / kDepositChunkBytes + 1;
  if (reader.rest().size() != chunks * sizeof(Digest::bytes)) return std::nullopt;
  for (uint64_t i = 0; i < chunks; ++i) list.chunks.push_back(Digest{reader.Sha256()});
  return reader.complete() ? std::optional(std::move(list)) : std::nullopt;
}

std::optional<std::string> StoreChunk(std::string_view deposit, size_t index) {
  return Compress(deposit.substr(index * kDepositChunkBytes, kDepositChunkBytes), kFastCompression);
}

std::optional<std::string> OpenChunk(const ChunkList& list, size_t index, std::string_view stored) {
  if (Sha256(stored) != list.chunks[index]) return std::nullopt;
  return Decompress(stored, list.SizeOf(index));
}

}  // namespace cccl_cache::daemon
