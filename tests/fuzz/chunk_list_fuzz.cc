// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Lists of chunks, and chunks, that anyone may have written to the shared Redis. The input is tried
// as a list, and as the only chunk of a list that names it.
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/codec.h"
#include "daemon/remote/deposit_chunks.h"
#include "tests/fuzz/seeds.h"

namespace {

using namespace cccl_cache::daemon;
using cccl_cache::Sha256;

constexpr uint64_t kMaxBytes = 64 << 20;

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  const ChunkList list{.size = kDepositChunkBytes + 1, .chunks = {Sha256("one"), Sha256("two")}};
  const std::string size = cccl_cache::ByteWriter().Put<uint32_t>(5).Joined();
  return {EncodeChunkList(list), size + *StoreChunk("chunk", 0)};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto list = DecodeChunkList(input, kMaxBytes)) {
    assert(list->size <= kMaxBytes);
    assert(EncodeChunkList(*list) == input);
  }
  cccl_cache::ByteReader reader(input);
  const uint64_t bytes = reader.Take<uint32_t>() % kDepositChunkBytes + 1;
  const ChunkList one{.size = bytes, .chunks = {Sha256(reader.rest())}};
  const auto chunk = OpenChunk(one, 0, reader.rest());
  assert(!chunk || chunk->size() == bytes);
  return 0;
}
