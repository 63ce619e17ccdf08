// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/answer_log.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "base/codec.h"
#include "daemon/core/model/account.h"
#include "daemon/store/rows.h"
#include "tests/unit/store/store_fixtures.h"
#include "tests/unit/store/store_scene.h"

namespace cccl_cache::daemon::answer_log_test {
namespace {

using std::chrono::seconds;
using store_test::Key;

constexpr uid_t kAlice = 1000;
constexpr uid_t kBob = 0x12345678;

AnsweredBuild Build(uint64_t number, int64_t last = 100) {
  return {Key(number), Key(number + 1'000'000),
          Key(13),     "13.0",
          "sm_90",     std::chrono::sys_seconds(seconds(last))};
}

TEST_CASE("an answer is found at once, and after a restart") {
  store_test::StoreScene store;
  store->answered().Note(kAlice, Build(2));
  store->answered().Note(kAlice, Build(1));
  store->answered().Note(kBob, Build(3));
  std::vector<AnsweredBuild> expected = {Build(1), Build(2)};
  std::ranges::sort(expected, {}, &AnsweredBuild::key);
  for (int opening = 0; opening < 2; ++opening) {
    CHECK(store->answered().Of(kAlice) == expected);
    CHECK(store->answered().Of(kBob) == std::vector{Build(3)});
    CHECK(store->answered().Of(7).empty());
    CHECK(store->answered().Has(kAlice, Key(2)));
    CHECK_FALSE(store->answered().Has(kAlice, Key(3)));
    CHECK_FALSE(store->answered().Has(7, Key(2)));
    CHECK(store->answered().Users() == std::vector{kAlice, kBob});
    store.Reopen();
  }
}

TEST_CASE("the keys of a user are found by their first digits, in ascending order") {
  store_test::StoreScene store;
  std::vector<cccl_cache::Digest> alike;
  for (uint8_t last : {1, 2, 3}) {
    AnsweredBuild build = Build(7);
    build.key.bytes.back() = last;
    alike.push_back(build.key);
    store->answered().Note(kAlice, build);
  }
  store->answered().Note(kAlice, Build(8));
  store->answered().Note(kBob, Build(8));
  const auto digits = *cccl_cache::DigestPrefix::FromHex(Key(7).Hex().substr(0, 9));
  for (int opening = 0; opening < 2; ++opening) {
    CHECK(store->answered().KeysWith(kAlice, digits, 9) == alike);
    CHECK(store->answered().KeysWith(kAlice, digits, 2) == std::vector{alike[0], alike[1]});
    CHECK(store->answered().KeysWith(kAlice, alike[2], 9) == std::vector{alike[2]});
    CHECK(store->answered().KeysWith(kBob, digits, 9).empty());
    store.Reopen();
  }
}

TEST_CASE("the later of two answers replaces the earlier one") {
  store_test::StoreScene store;
  store->answered().Note(kAlice, Build(1, 100));
  store.Reopen();
  store->answered().Note(kAlice, Build(1, 200));
  CHECK(store->answered().Of(kAlice) == std::vector{Build(1, 200)});
  store.Reopen();
  CHECK(store->answered().Of(kAlice) == std::vector{Build(1, 200)});
}

TEST_CASE("nothing is recorded for the overflow uid") {
  store_test::StoreScene store;
  store->answered().Note(kOverflowUid, Build(1));
  CHECK(store->answered().Users().empty());
}

struct Table {
  explicit Table(const AnsweredTable::Limits& limits, FindAccount find_account = {})
      : table(limits, std::move(find_account)) {
    auto opened = Database::Open(directory / "database", {.limit_bytes = 16 << 20});
    REQUIRE(std::holds_alternative<std::unique_ptr<Database>>(opened));
    database = std::move(std::get<0>(opened));
  }
  void Write(uid_t uid, uint64_t first, uint64_t count, int64_t last = 100) {
    AnsweredTable::Rows rows;
    for (uint64_t i = first; i < first + count; ++i) rows[{uid, Key(i)}] = Build(i, last);
    REQUIRE_FALSE(table.Write(*database, rows));
  }
  [[nodiscard]] AnsweredTable::Rows Of(uid_t uid) const {
    AnsweredTable::Rows rows;
    AnsweredTable::Read(*database, uid, &rows);
    return rows;
  }

  TemporaryDirectory directory;
  AnsweredTable table;
  std::unique_ptr<Database> database;
};

TEST_CASE("above a user's limit of rows, its oldest rows are dropped") {
  Table table({.per_account = 100, .in_all = 10'000});
  table.Write(kAlice, 0, 60, 100);
  table.Write(kBob, 0, 100, 1);
  table.Write(kAlice, 1000, 60, 200);
  const AnsweredTable::Rows rows = table.Of(kAlice);
  CHECK(rows.size() == 100);
  for (uint64_t i = 1000; i < 1060; ++i) CHECK(rows.contains({kAlice, Key(i)}));
  CHECK(table.Of(kBob).size() == 100);
}

TEST_CASE("a row that is written again is not counted again") {
  Table table({.per_account = 10, .in_all = 100});
  for (int i = 0; i < 50; ++i) table.Write(kAlice, 0, 10, 100 + i);
  CHECK(table.Of(kAlice).size() == 10);
}

TEST_CASE("above the total limit, the user with the most rows loses its oldest") {
  Table table({.per_account = 100, .in_all = 150});
  table.Write(1, 0, 10, 1);
  table.Write(2, 0, 80, 100);
  for (uint64_t i = 0; i < 60; i += 20) table.Write(2, 1000 + i, 20, 200);
  for (uid_t uid = 3; uid <= 5; ++uid) table.Write(uid, 0, 30, uid);
  size_t rows = 0;
  for (uid_t uid = 1; uid <= 5; ++uid) rows += table.Of(uid).size();
  CHECK(rows == 150);
  CHECK(table.Of(1).size() == 10);
  CHECK(table.Of(5).size() == 30);
  for (const auto& [place, build] : table.Of(2)) {
    CHECK(build.last == std::chrono::sys_seconds(seconds(200)));
  }
}

/// User 1000 has subordinate uids. The users of a container share one account.
std::optional<Account> AccountOf(uid_t uid) {
  if (IsContainerUser(uid)) return Account(kFirstContainerUser + uid % 16);
  return Account(uid >= 100'000 && uid < 200'000 ? kAlice : uid);
}

TEST_CASE("all uids of one account share its limit, also after a restart") {
  Table table({.per_account = 50, .in_all = 200}, AccountOf);
  table.Write(kBob, 0, 40, 1);
  for (uid_t uid = 100'000; uid < 100'100; ++uid) {
    table.Write(uid, 0, 3);
    if (uid % 10 == 0) table.table.Reopened();
  }
  size_t rows = 0;
  for (uid_t uid = 100'000; uid < 100'100; ++uid) rows += table.Of(uid).size();
  CHECK(rows == 50);
  CHECK(table.Of(kBob).size() == 40);
}

TEST_CASE("rows of containers evict rows of containers, but none of node users") {
  Table table({.per_account = 40, .in_all = 200}, AccountOf);
  for (uid_t uid = 1; uid <= 3; ++uid) table.Write(uid, 0, 33, 1);
  for (uid_t i = 0; i < 15; ++i) {
    for (uid_t uid = 16; uid < 80; uid += 16) table.Write(kFirstContainerUser + uid + i, 0, 40);
  }
  for (uid_t uid = 1; uid <= 3; ++uid) CHECK(table.Of(uid).size() == 33);
}

TEST_CASE("a wrong stored count does not prevent the drop of rows above a limit") {
  Table table({.per_account = 10, .in_all = 20});
  const ColumnWrite write{Column::kAnswered, UserRowPrefix(kBob),
                          ByteWriter().Put<uint64_t>(1000).Joined()};
  REQUIRE_FALSE(table.database->Write({&write, 1}));
  table.Write(kBob, 0, 1);
  table.Write(kAlice, 0, 15);
  CHECK(table.Of(kAlice).size() == 10);
  CHECK(table.Of(kBob).size() <= 1);
}

TEST_CASE("a user's rows are complete, and contain none of other users") {
  Table table(AnsweredTable::kLimits);
  table.Write(kAlice, 0, 3);
  table.Write(kAlice + 1, 3, 2);
  table.Write(kAlice - 1, 5, 1);
  const AnsweredTable::Rows rows = table.Of(kAlice);
  REQUIRE(rows.size() == 3);
  for (uint64_t i = 0; i < 3; ++i) CHECK(rows.at({kAlice, Key(i)}) == Build(i));
}

TEST_CASE("Read adds a user's rows to present ones") {
  Table table(AnsweredTable::kLimits);
  table.Write(kAlice, 0, 1);
  AnsweredTable::Rows rows;
  rows[{kBob, Key(7)}] = Build(7);
  AnsweredTable::Read(*table.database, kAlice, &rows);
  CHECK(rows.size() == 2);
}

TEST_CASE("all users with rows are listed") {
  Table table(AnsweredTable::kLimits);
  const auto users = [&] {
    std::vector<uid_t> found;
    AnsweredTable::ReadUsers(*table.database, &found);
    return found;
  };
  CHECK(users().empty());
  const std::vector<uid_t> expected = {0, kAlice, kAlice + 1, kBob, 0xfffffffd};
  for (const uid_t uid : expected) table.Write(uid, 0, 1);
  CHECK(users() == expected);
}

TEST_CASE("an unreadable row is left out, later ones are not") {
  Table table(AnsweredTable::kLimits);
  table.Write(kAlice, 0, 3);
  const ColumnWrite write{Column::kAnswered, UserRowKey(kAlice, Key(1)), "broken"};
  REQUIRE_FALSE(table.database->Write({&write, 1}));
  const AnsweredTable::Rows rows = table.Of(kAlice);
  CHECK(rows.size() == 2);
  CHECK_FALSE(rows.contains({kAlice, Key(1)}));
}

}  // namespace
}  // namespace cccl_cache::daemon::answer_log_test
