// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/transport/byte_chain.h"

#include <array>
#include <catch2/catch.hpp>
#include <string>

namespace byte_chain_test {

using cccl_cache::ByteChain;

namespace {

std::string Rest(const ByteChain& chain, ByteChain::Position from) {
  std::array<iovec, 64> pieces;
  std::string text;
  const size_t count = chain.Describe(from, pieces);
  for (size_t i = 0; i < count; ++i) {
    text.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
  }
  return text;
}

}  // namespace

TEST_CASE("a chain keeps the order of copied and referenced bytes") {
  const std::string blob = "blob";
  ByteChain chain;
  chain.Copy("ab");
  chain.Copy("cd");
  chain.Refer(blob);
  chain.Copy("ef");
  chain.Refer("");
  CHECK(chain.size() == 10);
  CHECK(Rest(chain, {}) == "abcdblobef");
  std::array<iovec, 64> pieces;
  CHECK(chain.Describe({}, pieces) == 3);
  CHECK(pieces[1].iov_base == blob.data());
}

TEST_CASE("a chain can be read from any position") {
  ByteChain chain;
  chain.Copy("abcd");
  chain.Refer("efgh");
  for (size_t skipped = 0; skipped <= 8; ++skipped) {
    CHECK(Rest(chain, chain.Advance({}, skipped)) == std::string("abcdefgh").substr(skipped));
    const auto half = chain.Advance({}, skipped / 2);
    CHECK(Rest(chain, chain.Advance(half, skipped - skipped / 2)) ==
          std::string("abcdefgh").substr(skipped));
  }
  CHECK(Rest(chain, chain.Advance({}, 99)).empty());
}

TEST_CASE("a chain can refer to a part of another chain") {
  ByteChain body;
  body.Copy("abcd");
  body.Refer("efgh");
  ByteChain output;
  output.Copy("<");
  output.ReferTo(body, body.Advance({}, 2), 4);
  output.Copy(">");
  CHECK(Rest(output, {}) == "<cdef>");
  output.Clear();
  CHECK(output.size() == 0);
  CHECK(Rest(output, {}).empty());
}

TEST_CASE("Describe returns at most as many pieces as the array holds") {
  ByteChain chain;
  for (int i = 0; i < 10; ++i) chain.Refer("x");
  std::array<iovec, 3> pieces;
  CHECK(chain.Describe({}, pieces) == 3);
}

}  // namespace byte_chain_test
