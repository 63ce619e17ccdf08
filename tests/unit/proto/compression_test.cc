// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/compression.h"

#include <catch2/catch.hpp>
#include <string>

namespace cccl_cache::compression_test {
namespace {

TEST_CASE("compressed bytes are fewer, and decompress to the original") {
  const std::string text(100'000, 'x');
  const std::string stored = *Compress(text, kFastCompression);
  CHECK(stored.size() < text.size() / 100);
  CHECK(Decompress(stored, text.size()) == text);
  CHECK(Decompress(*Compress("", kFastCompression), 0) == "");
}

TEST_CASE("equal bytes compress to equal bytes") {
  const std::string once = *Compress("the same bytes", kStrongCompression);
  CHECK(*Compress("the same bytes", kStrongCompression) == once);
}

TEST_CASE("only one complete frame of the named size is accepted") {
  const std::string text = "some bytes";
  const std::string stored = *Compress(text, kFastCompression);
  CHECK_FALSE(Decompress(stored, text.size() + 1));
  CHECK_FALSE(Decompress(stored, text.size() - 1));
  CHECK_FALSE(Decompress(stored + stored, text.size()));
  CHECK_FALSE(Decompress(stored + "x", text.size()));
  CHECK_FALSE(Decompress("", 0));
  CHECK_FALSE(Decompress("no compression of anything", 10));
  for (size_t size = 0; size < stored.size(); ++size) {
    CHECK_FALSE(Decompress(stored.substr(0, size), text.size()));
  }
}

TEST_CASE("the front of a frame decompresses without its end") {
  std::string text = "the front";
  for (unsigned i = 0; i < 200'000; ++i) text += static_cast<char>('a' + i * i % 23);
  const std::string stored = *Compress(text, kFastCompression);
  CHECK(DecompressFront(stored, 9) == "the front");
  CHECK(DecompressFront(stored, text.size()) == text);
  CHECK(DecompressFront(stored.substr(0, stored.size() - 1), 9) == "the front");
  CHECK_FALSE(DecompressFront(stored, text.size() + 1));
  CHECK_FALSE(DecompressFront("", 1));
  CHECK_FALSE(DecompressFront("no compression of anything", 1));
}

}  // namespace
}  // namespace cccl_cache::compression_test
