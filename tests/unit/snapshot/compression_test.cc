// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <string>

#include "daemon/snapshot/spool.h"

namespace cccl_cache::daemon {
namespace {

TEST_CASE("what was compressed comes back, and is smaller") {
  const std::string text(100'000, 'x');
  const std::string stored = *Compress(text);
  CHECK(stored.size() < text.size() / 100);
  CHECK(Decompress(stored, text.size()) == text);
  CHECK(Decompress(*Compress(""), 0) == "");
}

TEST_CASE("the same has the same form twice") {
  CHECK(*Compress("the same bytes") == *Compress("the same bytes"));
}

TEST_CASE("only one whole compression of the size that is named is taken") {
  const std::string text = "some bytes";
  const std::string stored = *Compress(text);
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

}  // namespace
}  // namespace cccl_cache::daemon
