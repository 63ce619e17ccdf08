// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/deposit_chunks.h"

#include <catch2/catch.hpp>
#include <string>

namespace deposit_chunks_test {

using namespace cccl_cache::daemon;
using cccl_cache::Sha256;

constexpr uint64_t kMax = 8 << 20;

/// Returns bytes that do not compress.
std::string Bytes(size_t size) {
  std::string bytes;
  for (uint64_t i = 0; bytes.size() < size; ++i) bytes += Sha256(std::to_string(i)).View();
  bytes.resize(size);
  return bytes;
}

ChunkList ListOf(const std::string& deposit) {
  ChunkList list{.size = deposit.size(), .chunks = {}};
  for (size_t index = 0; index * kDepositChunkBytes < deposit.size(); ++index) {
    list.chunks.push_back(Sha256(*StoreChunk(deposit, index)));
  }
  return list;
}

TEST_CASE("the chunks of a deposit, in the order of their list, are the deposit") {
  for (const size_t size : {size_t{1}, size_t{kDepositChunkBytes}, size_t{kDepositChunkBytes + 1},
                            size_t{3 * kDepositChunkBytes - 7}}) {
    const std::string deposit = Bytes(size);
    const auto list = DecodeChunkList(EncodeChunkList(ListOf(deposit)), kMax);
    REQUIRE(list);
    std::string joined;
    for (size_t index = 0; index < list->chunks.size(); ++index) {
      const std::string stored = *StoreChunk(deposit, index);
      CHECK(stored.size() <= kMaxStoredChunk);
      joined += OpenChunk(*list, index, stored).value();
    }
    CHECK((joined == deposit));
  }
}

TEST_CASE("a chunk is refused in another place, of another deposit, and with any other byte") {
  const std::string deposit = Bytes(2 * kDepositChunkBytes);
  const ChunkList list = ListOf(deposit);
  const std::string stored = *StoreChunk(deposit, 0);
  CHECK(OpenChunk(list, 0, stored));
  CHECK_FALSE(OpenChunk(list, 1, stored));
  CHECK_FALSE(OpenChunk(list, 0, *StoreChunk(std::string(kDepositChunkBytes, 'x'), 0)));
  CHECK_FALSE(OpenChunk(list, 0, ""));
  CHECK_FALSE(OpenChunk(list, 0, stored.substr(0, stored.size() - 1)));
  CHECK_FALSE(OpenChunk(list, 0, stored + "x"));
}

TEST_CASE("a list whose chunk has another size than it says is refused with the chunk") {
  const std::string stored = *StoreChunk(Bytes(10), 0);
  CHECK_FALSE(OpenChunk({.size = 11, .chunks = {Sha256(stored)}}, 0, stored));
  CHECK_FALSE(OpenChunk({.size = 9, .chunks = {Sha256(stored)}}, 0, stored));
}

TEST_CASE("a list of too large a deposit, or of too few or many chunks, is refused") {
  const std::string list = EncodeChunkList(ListOf(Bytes(2 * kDepositChunkBytes)));
  CHECK(DecodeChunkList(list, 2 * kDepositChunkBytes));
  CHECK_FALSE(DecodeChunkList(list, 2 * kDepositChunkBytes - 1));
  CHECK_FALSE(DecodeChunkList(list.substr(0, list.size() - 32), kMax));
  CHECK_FALSE(DecodeChunkList(list + std::string(32, 'x'), kMax));
  CHECK_FALSE(DecodeChunkList(list + "x", kMax));
  CHECK_FALSE(DecodeChunkList("", kMax));
  CHECK_FALSE(DecodeChunkList(EncodeChunkList({}), kMax));
}

}  // namespace deposit_chunks_test
