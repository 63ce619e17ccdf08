// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <chrono>
#include <string>

#include "daemon/store/rows.h"
#include "tests/unit/store/store_fixtures.h"

namespace cccl_cache::daemon {
namespace {

using store_test::Key;

constexpr uid_t kUid = 0x12345678;

AnsweredBuild Build() {
  return {{},     Key(2),  Key(3),
          "13.0", "sm_90", std::chrono::sys_seconds(std::chrono::seconds(1'700'000'000))};
}

TEST_CASE("a row says of which user and which build it is") {
  const std::string row = UserRowKey(kUid, Key(1));
  CHECK(UserOfRow(row) == kUid);
  CHECK(KeyOfRow(row) == Key(1));
  CHECK(row.starts_with(UserRowPrefix(kUid)));
}

TEST_CASE("a row about all of a user's builds has no key, and comes before theirs") {
  const std::string row = UserRowPrefix(kUid);
  CHECK(UserOfRow(row) == kUid);
  CHECK_FALSE(KeyOfRow(row));
  CHECK(row < UserRowKey(kUid, Key(1)));
}

TEST_CASE("rows stand in the order of users") {
  const uid_t higher = GENERATE(1U, 0x80U, 0x100U, 0x7fff'ffffU, 0x8000'0000U, 0xffff'ffffU);
  CHECK(UserRowKey(higher - 1, Key(1)) < UserRowPrefix(higher));
}

TEST_CASE("what is no row names no user and no build") {
  CHECK_FALSE(UserOfRow(""));
  CHECK_FALSE(UserOfRow("abc"));
  CHECK_FALSE(KeyOfRow("abc"));
  const std::string row = UserRowKey(kUid, Key(1));
  CHECK_FALSE(KeyOfRow(row.substr(0, row.size() - 1)));
  CHECK_FALSE(KeyOfRow(row + "x"));
}

TEST_CASE("what is encoded comes back but for the key, which stands in the row's") {
  const auto decoded = DecodeAnswered(EncodeAnswered(Build()));
  REQUIRE(decoded);
  CHECK(*decoded == Build());
}

TEST_CASE("a damaged row is no answer") {
  const std::string bytes = EncodeAnswered(Build());
  for (size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(DecodeAnswered(bytes.substr(0, size)));
  }
  CHECK_FALSE(DecodeAnswered(bytes + "x"));
  std::string far = bytes;
  far.replace(64, 8, 8, '\xff');  // a time beyond all times
  CHECK_FALSE(DecodeAnswered(far));
}

}  // namespace
}  // namespace cccl_cache::daemon
