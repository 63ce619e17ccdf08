// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "daemon/store/rows.h"

namespace cccl_cache::daemon {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;
using std::chrono::sys_seconds;

const sys_seconds kNow{seconds(1'800'000'000)};

TEST_CASE("a usage record comes back as it was encoded") {
  const UsageRecord record{123, microseconds(456), kNow, 7};
  const auto decoded = DecodeUsage(EncodeUsage(record));
  REQUIRE(decoded);
  CHECK(decoded->bytes == 123);
  CHECK(decoded->compile_time == microseconds(456));
  CHECK(decoded->last_use == kNow);
  CHECK(decoded->hits == 7);
}

TEST_CASE("totals come back as they were encoded") {
  const auto decoded = DecodeTotals(EncodeTotals({5, uint64_t{1} << 40}));
  REQUIRE(decoded);
  CHECK(decoded->entries == 5);
  CHECK(decoded->bytes == uint64_t{1} << 40);
}

TEST_CASE("a usage record of another length or with impossible times is none") {
  const std::string encoded = EncodeUsage({1, microseconds(2), kNow, 3});
  CHECK_FALSE(DecodeUsage(encoded.substr(1)));
  CHECK_FALSE(DecodeUsage(encoded + "x"));
  CHECK_FALSE(DecodeUsage(""));
  CHECK_FALSE(DecodeUsage(std::string(32, '\xff')));
  CHECK_FALSE(DecodeTotals(""));
}

TEST_CASE("what costs more to compile is worth more") {
  CHECK(KeepValue({1000, microseconds(2000), kNow, 0}, kNow + seconds(60)) >
        KeepValue({1000, microseconds(1000), kNow, 0}, kNow + seconds(60)));
}

TEST_CASE("what takes more bytes is worth less") {
  CHECK(KeepValue({2000, microseconds(1000), kNow, 0}, kNow + seconds(60)) <
        KeepValue({1000, microseconds(1000), kNow, 0}, kNow + seconds(60)));
}

TEST_CASE("what was not used for longer is worth less") {
  CHECK(KeepValue({1000, microseconds(1000), kNow - seconds(100), 0}, kNow) <
        KeepValue({1000, microseconds(1000), kNow - seconds(10), 0}, kNow));
}

TEST_CASE("a clock that was set back makes no entry eternal") {
  const double used_later = KeepValue({1000, microseconds(1000), kNow + seconds(1000), 0}, kNow);
  CHECK(used_later == KeepValue({1000, microseconds(1000), kNow, 0}, kNow));
}

}  // namespace
}  // namespace cccl_cache::daemon
