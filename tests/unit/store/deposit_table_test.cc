// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/deposit_table.h"

#include <rocksdb/db.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "daemon/core/lease/deposit.h"
#include "daemon/store/database.h"
#include "tests/unit/store/open_database.h"
#include "tests/unit/store/store_fixtures.h"
#include "tests/unit/store/store_scene.h"

namespace cccl_cache::daemon::deposit_table_test {
namespace {

using cccl_cache::Digest;
using store_test::Key;
using store_test::Numbered;
using store_test::StoreScene;

DepositRecord Record(uint64_t number) {
  return {.key = Key(number),
          .uid = 1000,
          .scope = {cccl_cache::DepositScope::Kind::kUser, 1000},
          .name_space = "org.example",
          .size = 5,
          .made = std::chrono::sys_seconds(std::chrono::seconds(5)),
          .used = std::chrono::sys_seconds(std::chrono::seconds(6))};
}

struct Scene {
  void Write(uint64_t number, WriteQueue::DepositChange change) {
    REQUIRE_FALSE(WriteDeposits(*database, {{Key(number), std::move(change)}}));
  }
  void Put(uint64_t number, const std::string& contents) {
    Write(number,
          {EncodeDepositRecord(Record(number)), std::make_shared<const std::string>(contents)});
  }
  /// Returns the contents; "-" if there are none, "?" if they are corrupt.
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

TEST_CASE("the contents and the record of a deposit are read back") {
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

TEST_CASE("a changed record leaves the contents unchanged") {
  Scene scene;
  scene.Put(1, "bytes");
  DepositRecord record = Record(1);
  record.used += std::chrono::seconds(100);
  scene.Write(1, {EncodeDepositRecord(record), nullptr});
  CHECK(scene.Got(1) == "bytes");
  CHECK(scene.Records().records.at(0).used == record.used);
}

TEST_CASE("a deleted deposit leaves neither contents nor record") {
  Scene scene;
  scene.Put(1, "bytes");
  scene.Put(2, "others");
  scene.Write(1, {});
  CHECK(scene.Got(1) == "-");
  CHECK(scene.Got(2) == "others");
  CHECK(scene.Records().records.size() == 1);
  CHECK(scene.database.Get(Column::kDeposits, Row('r', 1)) == std::nullopt);
}

TEST_CASE("corrupt contents are found, but not returned") {
  Scene scene;
  scene.Put(1, "bytes");
  scene.database.Put(Column::kDeposits, Row('c', 1), "broken");
  CHECK(scene.Got(1) == "?");
  // The contents of another deposit have the other deposit's key.
  scene.Put(2, "others");
  scene.database.Put(Column::kDeposits, Row('c', 1),
                     scene.database.Get(Column::kDeposits, Row('c', 2)));
  CHECK(scene.Got(1) == "?");
}

TEST_CASE("a corrupt record is reported by its key, and the others are read") {
  Scene scene;
  for (uint64_t number = 1; number <= 3; ++number) scene.Put(number, "bytes");
  scene.database.Put(Column::kDeposits, Row('r', 2), "broken");
  const StoredDeposits stored = scene.Records();
  CHECK(stored.broken == std::vector{Key(2)});
  CHECK(stored.records.size() == 2);
}

DepositRecord RocksdbDepositsRecord(uint64_t number, uint64_t size) {
  return {.key = Key(number),
          .uid = 1000,
          .scope = {cccl_cache::DepositScope::Kind::kUser, 1000},
          .name_space = "org.example",
          .size = size,
          .made = std::chrono::sys_seconds(std::chrono::seconds(5)),
          .used = std::chrono::sys_seconds(std::chrono::seconds(6))};
}

void Put(StoreScene& scene, uint64_t number, const std::string& contents) {
  REQUIRE(scene->deposits().Put(RocksdbDepositsRecord(number, contents.size()),
                                std::make_shared<const std::string>(contents)));
}

/// Returns the contents; "-" if there are none.
std::string Got(StoreScene& scene, uint64_t number) {
  const DepositContents contents = *scene->deposits().Get(Key(number));
  return contents == nullptr ? "-" : *contents;
}

std::string RocksdbDepositsRow(char kind, uint64_t number) {
  return std::string(1, kind) + std::string(Key(number).View());
}

/// Replaces one row of the deposits of a closed store.
void Overwrite(const StoreScene& scene, const std::string& row, const std::string& value) {
  auto opened = Database::Open(scene.state() + "/database", {});
  auto* database = std::get_if<0>(&opened);
  REQUIRE(database != nullptr);
  const ColumnWrite write{Column::kDeposits, row, value};
  REQUIRE_FALSE((*database)->Write({&write, 1}));
}

TEST_CASE("a deposit is found at once, and after a restart") {
  StoreScene scene;
  const std::string large(100'000, 'x');
  Put(scene, 1, "small");
  Put(scene, 2, large);
  CHECK(Got(scene, 1) == "small");
  scene.Reopen();
  CHECK(Got(scene, 1) == "small");
  CHECK((Got(scene, 2) == large));
  CHECK(Got(scene, 3) == "-");
  auto records = scene->deposits().Records();
  REQUIRE(records.size() == 2);
  std::ranges::sort(records, {}, &DepositRecord::size);
  CHECK(records[0].key == Key(1));
  CHECK(records[0].name_space == "org.example");
  CHECK(records[1].size == 100'000);
}

TEST_CASE("deposits and artifacts under one key are separate") {
  StoreScene scene;
  scene->Put(Key(1), Numbered(1, 300));
  Put(scene, 1, "deposit");
  scene.Reopen();
  CHECK(Got(scene, 1) == "deposit");
  CHECK(store_test::Same(*scene->Get(Key(1)), *Numbered(1, 300)));
  CHECK(scene->size().entries == 1);
}

TEST_CASE("a removed deposit is gone, also after a restart") {
  StoreScene scene;
  Put(scene, 1, "a");
  scene.Reopen();
  scene->deposits().Remove(Key(1));
  CHECK(Got(scene, 1) == "-");
  scene.Reopen();
  CHECK(Got(scene, 1) == "-");
  CHECK(scene->deposits().Records().empty());
}

TEST_CASE("the record of a deposit can be replaced without its contents") {
  StoreScene scene;
  Put(scene, 1, "a");
  scene.Reopen();
  DepositRecord used = RocksdbDepositsRecord(1, 1);
  used.used += std::chrono::hours(2);
  scene->deposits().PutRecord(used);
  CHECK(Got(scene, 1) == "a");
  scene.Reopen();
  CHECK(Got(scene, 1) == "a");
  CHECK(scene->deposits().Records().at(0).used == used.used);
}

TEST_CASE("a corrupt deposit is a miss, and counted") {
  StoreScene scene;
  Put(scene, 1, "contents");
  Put(scene, 2, "others");
  scene.Close();
  std::string damaged = EncodeDepositContents(Key(1), "contents");
  damaged[60] ^= 1;
  Overwrite(scene, RocksdbDepositsRow('c', 1), damaged);
  scene.Reopen();
  CHECK(Got(scene, 1) == "-");
  CHECK(Got(scene, 2) == "others");
  CHECK(scene.statistics.Get(Counter::kCorruptEntries) == 1);
}

TEST_CASE("a deposit with the contents of another deposit is a miss") {
  StoreScene scene;
  Put(scene, 1, "contents");
  scene.Close();
  Overwrite(scene, RocksdbDepositsRow('c', 1), EncodeDepositContents(Key(2), "another's"));
  scene.Reopen();
  CHECK(Got(scene, 1) == "-");
}

TEST_CASE("a deposit with a corrupt record is dropped, the others are kept") {
  StoreScene scene;
  Put(scene, 1, "a");
  Put(scene, 2, "b");
  scene.Close();
  Overwrite(scene, RocksdbDepositsRow('r', 1), "no record");
  scene.Reopen();
  const auto records = scene->deposits().Records();
  REQUIRE(records.size() == 1);
  CHECK(records[0].key == Key(2));
  CHECK(Got(scene, 1) == "-");
  CHECK(scene.statistics.Get(Counter::kCorruptEntries) == 1);
}

TEST_CASE("a database of an earlier version without a deposit column opens and stores deposits") {
  StoreScene scene;
  scene->Put(Key(1), Numbered(1, 300));
  scene.Close();
  {
    const std::string path = scene.state() + "/database";
    std::vector<std::string> names;
    REQUIRE(rocksdb::DB::ListColumnFamilies({}, path, &names).ok());
    std::vector<rocksdb::ColumnFamilyDescriptor> columns;
    for (const std::string& name : names)
      columns.emplace_back(name, rocksdb::ColumnFamilyOptions());
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* opened = nullptr;
    REQUIRE(rocksdb::DB::Open({}, path, columns, &handles, &opened).ok());
    const std::unique_ptr<rocksdb::DB> database(opened);
    for (rocksdb::ColumnFamilyHandle* handle : handles) {
      if (handle->GetName() == "deposits") REQUIRE(database->DropColumnFamily(handle).ok());
      REQUIRE(database->DestroyColumnFamilyHandle(handle).ok());
    }
  }
  scene.Reopen();
  CHECK(scene->Get(Key(1)) != nullptr);
  Put(scene, 1, "deposit");
  scene.Reopen();
  CHECK(Got(scene, 1) == "deposit");
  CHECK(scene.reports.All().empty());
}

}  // namespace
}  // namespace cccl_cache::daemon::deposit_table_test
