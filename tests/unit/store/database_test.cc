// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/database.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/store/open_database.h"

namespace cccl_cache::daemon::database_test {
namespace {

using Kind = DatabaseError::Kind;

TEST_CASE("written rows are read, also after a close and open") {
  store_test::OpenDatabase database;
  database.Put(Column::kMeta, "name", "value");
  const std::string large(100'000, 'x');
  database.Put(Column::kArtifacts, "key", large);
  for (int opening = 0; opening < 2; ++opening) {
    CHECK(database.Get(Column::kMeta, "name") == "value");
    CHECK((database.Get(Column::kArtifacts, "key") == large));
    CHECK(database.Get(Column::kMeta, "none") == std::nullopt);
    database.Reopen();
  }
}

TEST_CASE("equal keys of different columns are separate") {
  store_test::OpenDatabase database;
  const std::vector<Column> columns = {
      Column::kArtifacts, Column::kManifests,    Column::kDeposits,
      Column::kPrivate,   Column::kUsage,        Column::kMeta,
      Column::kAnswered,  Column::kPrivateUsage, Column::kPrivateOrder};
  for (size_t i = 0; i < columns.size(); ++i) database.Put(columns[i], "key", std::to_string(i));
  for (size_t i = 0; i < columns.size(); ++i) {
    CHECK(database.Get(columns[i], "key") == std::to_string(i));
  }
}

TEST_CASE("one write changes several columns, and replaces or deletes values") {
  store_test::OpenDatabase database;
  database.Put(Column::kMeta, "deleted", "before");
  database.Put(Column::kUsage, "replaced", "before");
  const std::vector<ColumnWrite> writes = {{Column::kMeta, "deleted", std::nullopt},
                                           {Column::kUsage, "replaced", "after"},
                                           {Column::kUsage, "new", ""},
                                           {Column::kMeta, "never there", std::nullopt}};
  REQUIRE_FALSE((*database).Write(writes));
  CHECK(database.Get(Column::kMeta, "deleted") == std::nullopt);
  CHECK(database.Get(Column::kUsage, "replaced") == "after");
  CHECK(database.Get(Column::kUsage, "new") == "");
}

TEST_CASE("a scan visits keys in order from its start, until the visitor ends it") {
  store_test::OpenDatabase database;
  for (const char* key : {"c", "a", "b", "d"}) database.Put(Column::kUsage, key, "value");
  CHECK(database.Keys(Column::kUsage) == "a b c d ");
  CHECK(database.Keys(Column::kUsage, "b") == "b c d ");
  CHECK(database.Keys(Column::kUsage, "bb") == "c d ");
  CHECK(database.Keys(Column::kUsage, "e").empty());
  int visited = 0;
  REQUIRE_FALSE((*database).Scan(
      Column::kUsage, "", [&](std::string_view, std::string_view) { return ++visited < 2; }));
  CHECK(visited == 2);
}

TEST_CASE("a key may hold any bytes") {
  store_test::OpenDatabase database;
  const std::string key("\0\xff\0", 3);
  database.Put(Column::kUsage, key, "value");
  CHECK(database.Get(Column::kUsage, key) == "value");
  CHECK(database.Get(Column::kUsage, std::string("\0", 1)) == std::nullopt);
}

TEST_CASE("the error of a database that can't be opened has a kind") {
  const TemporaryDirectory directory;
  const auto open = [](const std::string& path) {
    auto opened = Database::Open(path, {});
    REQUIRE(std::holds_alternative<DatabaseError>(opened));
    return std::get<DatabaseError>(opened);
  };
  CHECK(open(directory.Write("file", "no directory")).kind == Kind::kUnavailable);
  static_cast<void>(directory.Write("damaged/CURRENT", "MANIFEST-000007\n"));
  CHECK(open(directory / "damaged").kind == Kind::kDamaged);
}

TEST_CASE("an open database can't be opened again") {
  const store_test::OpenDatabase database;
  auto again = Database::Open(database.path(), {});
  REQUIRE(std::holds_alternative<DatabaseError>(again));
  CHECK(std::get<DatabaseError>(again).kind == Kind::kUnavailable);
}

TEST_CASE("a working database can be flushed and resumed") {
  store_test::OpenDatabase database;
  database.Put(Column::kMeta, "name", "value");
  CHECK_FALSE((*database).Flush());
  CHECK_FALSE((*database).Resume());
  CHECK(database.Get(Column::kMeta, "name") == "value");
}

TEST_CASE("readers find the database between Set and Close") {
  store_test::OpenDatabase database;
  DatabaseSlot slot;
  CHECK(slot.Get() == nullptr);
  slot.Set(database.Release());
  REQUIRE(slot.Get() != nullptr);
  CHECK(slot.Get() == slot.Get());
  slot.Close();
  CHECK(slot.Get() == nullptr);
  slot.Close();
}

TEST_CASE("a closed slot's database can be opened again, and set") {
  store_test::OpenDatabase database;
  DatabaseSlot slot;
  slot.Set(database.Release());
  slot.Close();
  database.Reopen();  // fails while the database is open
  slot.Set(database.Release());
  CHECK(slot.Get() != nullptr);
}

TEST_CASE("Close waits for the last reader, and admits no new reader") {
  store_test::OpenDatabase database;
  DatabaseSlot slot;
  slot.Set(database.Release());
  std::shared_ptr<Database> reader = slot.Get();
  std::atomic<bool> read = false;
  std::atomic<bool> read_before_closed = false;
  std::thread closing([&] {
    slot.Close();
    read_before_closed = read.load();
  });
  while (slot.Get() != nullptr) std::this_thread::yield();
  CHECK(reader->Read(Column::kMeta, "none", [](std::string_view) {}) == Database::Found::kNo);
  read = true;
  reader.reset();
  closing.join();
  CHECK(read_before_closed);
}

TEST_CASE("an empty slot tells why it is empty") {
  using Catch::Matchers::Contains;
  DatabaseSlot slot;
  slot.SetFailure(DatabaseError{Kind::kDiskFull, "No space left"});
  CHECK(slot.failure() == "No space left");
  CHECK_THAT(slot.WhyEmpty().message, Contains("is full") && Contains("No space left"));
  slot.SetFailure(DatabaseError{Kind::kUnavailable, "Permission denied"});
  CHECK_THAT(slot.WhyEmpty().message, Contains("can't be opened") && Contains("Permission denied"));
  slot.SetFailure(DatabaseError{Kind::kDamaged, "bad block"});
  CHECK_THAT(slot.WhyEmpty().message, Contains("is damaged") && Contains("bad block"));
  slot.SetFailure(std::nullopt);
  CHECK(slot.failure().empty());
}

TEST_CASE("a destroyed slot closes its database") {
  store_test::OpenDatabase database;
  { DatabaseSlot().Set(database.Release()); }
  database.Reopen();
}

}  // namespace
}  // namespace cccl_cache::daemon::database_test
