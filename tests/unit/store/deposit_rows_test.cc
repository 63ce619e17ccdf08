// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "daemon/core/lease/deposit.h"
#include "daemon/store/deposit_table.h"
#include "tests/unit/store/open_database.h"
#include "tests/unit/store/store_fixtures.h"

namespace cccl_cache::daemon {
namespace {

using cccl_cache::Digest;
using store_test::Key;

DepositRecord Record(uint64_t number) {
  return {.key = Key(number),
          .uid = 1000,
          .scope = {cccl_cache::DepositScope::Kind::kUser, 1000},
          .name_space = "org.example",
          .size = 5,
          .made = std::chrono::sys_seconds(std::chrono::seconds(5)),
          .used = std::chrono::sys_seconds(std::chrono::seconds(6))};
}

/// Deposits in a database of their own.
struct Scene {
  void Write(uint64_t number, WriteQueue::DepositChange change) {
    REQUIRE_FALSE(WriteDeposits(*database, {{Key(number), std::move(change)}}));
  }
  void Put(uint64_t number, const std::string& contents) {
    Write(number,
          {EncodeDepositRecord(Record(number)), std::make_shared<const std::string>(contents)});
  }
  /// "-": none; "?": what is there does not verify.
  std::string Got(uint64_t number) {
    DepositContents contents;
    const auto found = ReadDeposit(*database, Key(number), contents);
    if (found == Database::Found::kNo) return "-";
    REQUIRE(found == Database::Found::kYes);
    return contents == nullptr ? "?" : *contents;
  }
  StoredDeposits Records() {
    StoredDeposits stored;
    REQUIRE_FALSE(ReadDepositRecords(*database, stored));
    return stored;
  }

  store_test::OpenDatabase database;
};

std::string Row(char kind, uint64_t number) {
  return std::string(1, kind).append(Key(number).View());
}

TEST_CASE("a deposit is read back, its contents and its record") {
  Scene scene;
  CHECK(scene.Got(1) == "-");
  scene.Put(1, "bytes");
  CHECK(scene.Got(1) == "bytes");
  const StoredDeposits stored = scene.Records();
  CHECK(stored.broken.empty());
  REQUIRE(stored.records.size() == 1);
  CHECK(stored.records[0].key == Key(1));
  CHECK(stored.records[0].name_space == "org.example");
}

TEST_CASE("a record that changes leaves the contents as they are") {
  Scene scene;
  scene.Put(1, "bytes");
  DepositRecord record = Record(1);
  record.used += std::chrono::seconds(100);
  scene.Write(1, {EncodeDepositRecord(record), nullptr});
  CHECK(scene.Got(1) == "bytes");
  CHECK(scene.Records().records.at(0).used == record.used);
}

TEST_CASE("a deposit that is deleted leaves neither row") {
  Scene scene;
  scene.Put(1, "bytes");
  scene.Put(2, "others");
  scene.Write(1, {});
  CHECK(scene.Got(1) == "-");
  CHECK(scene.Got(2) == "others");
  CHECK(scene.Records().records.size() == 1);
  CHECK(scene.database.Get(Column::kDeposits, Row('r', 1)) == std::nullopt);
}

TEST_CASE("contents that do not verify are there, and are not given") {
  Scene scene;
  scene.Put(1, "bytes");
  scene.database.Put(Column::kDeposits, Row('c', 1), "broken");
  CHECK(scene.Got(1) == "?");
  // Those of another deposit do not verify either.
  scene.Put(2, "others");
  scene.database.Put(Column::kDeposits, Row('c', 1),
                     scene.database.Get(Column::kDeposits, Row('c', 2)));
  CHECK(scene.Got(1) == "?");
}

TEST_CASE("a record that does not verify is told by its key, and those beside it are read") {
  Scene scene;
  for (uint64_t number = 1; number <= 3; ++number) scene.Put(number, "bytes");
  scene.database.Put(Column::kDeposits, Row('r', 2), "broken");
  const StoredDeposits stored = scene.Records();
  CHECK(stored.broken == std::vector{Key(2)});
  CHECK(stored.records.size() == 2);
}

}  // namespace
}  // namespace cccl_cache::daemon
