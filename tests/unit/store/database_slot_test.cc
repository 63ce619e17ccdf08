// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "daemon/store/database.h"
#include "tests/unit/store/open_database.h"

namespace cccl_cache::daemon {
namespace {

TEST_CASE("readers find the database from when it is set until it is closed") {
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
  database.Reopen();  // fails while it is open
  slot.Set(database.Release());
  CHECK(slot.Get() != nullptr);
}

TEST_CASE("closing waits for the last reader, and no new one comes meanwhile") {
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

TEST_CASE("a slot that goes closes its database") {
  store_test::OpenDatabase database;
  { DatabaseSlot().Set(database.Release()); }
  database.Reopen();
}

}  // namespace
}  // namespace cccl_cache::daemon
