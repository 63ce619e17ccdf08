// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <limits>
#include <string>

#include "daemon/store/rows.h"
#include "tests/unit/store/store_fixtures.h"

namespace cccl_cache::daemon {
namespace {

using store_test::Key;

constexpr uid_t kUid = 0x12345678;

TEST_CASE("the usage of a private entry comes back as it was") {
  const uint64_t most = std::numeric_limits<uint64_t>::max();
  const auto decoded = DecodePrivateUsage(EncodePrivateUsage({7, most}));
  REQUIRE(decoded);
  CHECK(decoded->bytes == 7);
  CHECK(decoded->generation == most);
}

TEST_CASE("damaged usage is none") {
  const std::string bytes = EncodePrivateUsage({7, 8});
  for (size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(DecodePrivateUsage(bytes.substr(0, size)));
  }
  CHECK_FALSE(DecodePrivateUsage(bytes + "x"));
}

TEST_CASE("a row in the order of insertion says when what was inserted") {
  const auto row = DecodeOrderRow(OrderRowKey(kUid, 0x1122'3344'5566'7788, Key(1)));
  REQUIRE(row);
  CHECK(row->generation == 0x1122'3344'5566'7788);
  CHECK(row->key == Key(1));
}

TEST_CASE("a user's rows stand in the order of insertion, after those of users before") {
  const uint64_t later = GENERATE(1ULL, 0x80ULL, 0x100ULL, 0x1'0000'0000ULL, 1ULL << 63);
  CHECK(OrderRowKey(kUid, later - 1, Key(1)) < OrderRowKey(kUid, later, Key(2)));
  CHECK(OrderRowKey(kUid, later - 1, Key(2)) < OrderRowKey(kUid, later, Key(1)));
  CHECK(OrderRowKey(kUid, later, Key(1)) < OrderRowKey(kUid + 1, 0, Key(1)));
}

TEST_CASE("what is no such row is none") {
  const std::string row = OrderRowKey(kUid, 1, Key(1));
  for (size_t size = 0; size < row.size(); ++size) CHECK_FALSE(DecodeOrderRow(row.substr(0, size)));
  CHECK_FALSE(DecodeOrderRow(row + "x"));
}

}  // namespace
}  // namespace cccl_cache::daemon
