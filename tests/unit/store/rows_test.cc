// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/rows.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <limits>
#include <string>

#include "tests/unit/store/store_fixtures.h"

namespace cccl_cache::daemon::rows_test {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;
using std::chrono::sys_seconds;
using store_test::Key;

constexpr uid_t kUid = 0x12345678;

AnsweredBuild Build() {
  return {{},     Key(2),  Key(3),
          "13.0", "sm_90", std::chrono::sys_seconds(std::chrono::seconds(1'700'000'000))};
}

TEST_CASE("the key of a row has its user and build") {
  const std::string row = UserRowKey(kUid, Key(1));
  CHECK(UserOfRow(row) == kUid);
  CHECK(KeyOfRow(row) == Key(1));
  CHECK(row.starts_with(UserRowPrefix(kUid)));
}

TEST_CASE("a row about all builds of a user precedes the rows of the builds") {
  const std::string row = UserRowPrefix(kUid);
  CHECK(UserOfRow(row) == kUid);
  CHECK_FALSE(KeyOfRow(row));
  CHECK(row < UserRowKey(kUid, Key(1)));
}

TEST_CASE("rows are in the order of users") {
  const uid_t higher = GENERATE(1U, 0x80U, 0x100U, 0x7fff'ffffU, 0x8000'0000U, 0xffff'ffffU);
  CHECK(UserRowKey(higher - 1, Key(1)) < UserRowPrefix(higher));
}

TEST_CASE("an invalid key of a row has no user and no build") {
  CHECK_FALSE(UserOfRow(""));
  CHECK_FALSE(UserOfRow("abc"));
  CHECK_FALSE(KeyOfRow("abc"));
  const std::string row = UserRowKey(kUid, Key(1));
  CHECK_FALSE(KeyOfRow(row.substr(0, row.size() - 1)));
  CHECK_FALSE(KeyOfRow(row + "x"));
}

TEST_CASE("an answered build decodes to all but its key") {
  const auto decoded = DecodeAnswered(EncodeAnswered(Build()));
  REQUIRE(decoded);
  CHECK(*decoded == Build());
}

TEST_CASE("a damaged row is refused") {
  const std::string bytes = EncodeAnswered(Build());
  for (size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(DecodeAnswered(bytes.substr(0, size)));
  }
  CHECK_FALSE(DecodeAnswered(bytes + "x"));
  std::string far = bytes;
  far.replace(64, 8, 8, '\xff');  // a time beyond the range
  CHECK_FALSE(DecodeAnswered(far));
}

TEST_CASE("the usage of a private entry decodes to itself") {
  const uint64_t most = std::numeric_limits<uint64_t>::max();
  const auto decoded = DecodePrivateUsage(EncodePrivateUsage({7, most}));
  REQUIRE(decoded);
  CHECK(decoded->bytes == 7);
  CHECK(decoded->generation == most);
}

TEST_CASE("damaged usage is refused") {
  const std::string bytes = EncodePrivateUsage({7, 8});
  for (size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(DecodePrivateUsage(bytes.substr(0, size)));
  }
  CHECK_FALSE(DecodePrivateUsage(bytes + "x"));
}

const sys_seconds kNow{seconds(1'800'000'000)};

TEST_CASE("a usage record decodes to itself") {
  const UsageRecord record{123, microseconds(456), kNow, 7};
  const auto decoded = DecodeUsage(EncodeUsage(record));
  REQUIRE(decoded);
  CHECK(decoded->bytes == 123);
  CHECK(decoded->compile_time == microseconds(456));
  CHECK(decoded->last_use == kNow);
  CHECK(decoded->hits == 7);
}

TEST_CASE("totals decode to themselves") {
  const auto decoded = DecodeTotals(EncodeTotals({5, uint64_t{1} << 40}));
  REQUIRE(decoded);
  CHECK(decoded->entries == 5);
  CHECK(decoded->bytes == uint64_t{1} << 40);
}

TEST_CASE("a usage record of another length or with impossible times is refused") {
  const std::string encoded = EncodeUsage({1, microseconds(2), kNow, 3});
  CHECK_FALSE(DecodeUsage(encoded.substr(1)));
  CHECK_FALSE(DecodeUsage(encoded + "x"));
  CHECK_FALSE(DecodeUsage(""));
  CHECK_FALSE(DecodeUsage(std::string(32, '\xff')));
  CHECK_FALSE(DecodeTotals(""));
}

TEST_CASE("a build that costs more to compile is worth more") {
  // A build of unknown compile time is worth as much as a build of one second.
  CHECK(KeepValue({1000, microseconds(0), kNow, 0}, kNow + seconds(60)) ==
        KeepValue({1000, seconds(1), kNow, 0}, kNow + seconds(60)));
  CHECK(KeepValue({1000, microseconds(2000), kNow, 0}, kNow + seconds(60)) >
        KeepValue({1000, microseconds(1000), kNow, 0}, kNow + seconds(60)));
}

TEST_CASE("a build that takes more bytes is worth less") {
  CHECK(KeepValue({2000, microseconds(1000), kNow, 0}, kNow + seconds(60)) <
        KeepValue({1000, microseconds(1000), kNow, 0}, kNow + seconds(60)));
}

TEST_CASE("a build that was unused for a longer time is worth less") {
  CHECK(KeepValue({1000, microseconds(1000), kNow - seconds(100), 0}, kNow) <
        KeepValue({1000, microseconds(1000), kNow - seconds(10), 0}, kNow));
}

TEST_CASE("a clock that was set back makes no entry eternal") {
  const double used_later = KeepValue({1000, microseconds(1000), kNow + seconds(1000), 0}, kNow);
  CHECK(used_later == KeepValue({1000, microseconds(1000), kNow, 0}, kNow));
}

}  // namespace
}  // namespace cccl_cache::daemon::rows_test
