// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/rocksdb_store.h"

#include <sys/stat.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <mutex>
#include <set>

#include "daemon/store/database.h"
#include "tests/unit/store/store_fixtures.h"
#include "tests/unit/store/store_scene.h"

namespace cccl_cache::daemon::rocksdb_store_test {
namespace {

namespace fs = std::filesystem;

using Catch::Matchers::Contains;
using store_test::Fill;
using store_test::Key;
using store_test::Look;
using store_test::Numbered;
using store_test::Same;
using store_test::StoreScene;

TEST_CASE("the disk tier finds an entry before and after it is written") {
  StoreScene store;
  CHECK_FALSE(store->Get(Key(1)));
  CHECK_FALSE(store->Holds(Key(1)));
  for (int i = 0; i < 50; ++i) {
    store->Put(Key(i), Numbered(i, 30'000));
    const ArtifactPtr found = store->Get(Key(i));
    REQUIRE(found);
    CHECK(Same(*found, *Numbered(i, 30'000)));
    CHECK(store->Holds(Key(i)));
  }
  REQUIRE(store.WaitForEntries(50));
  CHECK(store->Holds(Key(7)));
  CHECK(Same(*store->Get(Key(7)), *Numbered(7, 30'000)));
  CHECK(store->size().bytes > 50 * 30'000);
  CHECK(store->size().bytes < 50 * 31'000);
}

TEST_CASE("a run that could not be counted is counted after a later write") {
  StoreScene store;
  store.Close();
  fs::rename(store.state() + "/runs", store.state() + "/aside");
  fs::create_directory(store.state() + "/runs");
  store.Reopen();
  CHECK_FALSE(store->run());
  fs::remove(store.state() + "/runs");
  fs::rename(store.state() + "/aside", store.state() + "/runs");
  store->Put(Key(1), Numbered(1, 300));
  REQUIRE(WaitUntil([&] { return store->run().ok(); }));
  CHECK(*store->run() == 2);
}

TEST_CASE("restart_keeps_entries: a restarted store has all entries") {
  StoreScene store;
  Fill(*store, 0, 500);
  store->PutMeta("counters", "hits 12");
  REQUIRE(store.WaitForEntries(500));
  const TierSize size = store->size();
  store.Reopen();
  CHECK(store->size().entries == 500);
  CHECK(store->size().bytes == size.bytes);
  CHECK(Look(*store, 0, 500).right == 500);
  CHECK(store->GetMeta("counters") == "hits 12");
  CHECK_FALSE(store->GetMeta("other"));
  CHECK(store.reports.All().empty());
  CHECK(store.statistics.Get(Counter::kCorruptEntries) == 0);
  CHECK(store.statistics.Get(Counter::kStoreErrors) == 0);
}

TEST_CASE("queued entries are written when the store closes") {
  StoreScene store;
  Fill(*store, 0, 2000);
  store.Reopen();
  CHECK(Look(*store, 0, 2000).right == 2000);
}

TEST_CASE("a put under a present key replaces it and counts once") {
  StoreScene store;
  store->Put(Key(1), Numbered(1, 10'000));
  REQUIRE(store.WaitForEntries(1));
  store->Put(Key(1), Numbered(2, 20'000));
  REQUIRE(WaitUntil([&] { return store->size().bytes > 20'000; }));
  CHECK(store->size().entries == 1);
  CHECK(store->size().bytes < 21'000);
  CHECK(Same(*store->Get(Key(1)), *Numbered(2, 20'000)));
}

TEST_CASE("an entry can be removed before and after it is written") {
  StoreScene store;
  Fill(*store, 0, 10);
  REQUIRE(store.WaitForEntries(10));
  store->Remove(Key(3));
  store->Put(Key(77), Numbered(77, 1000));
  store->Remove(Key(77));
  CHECK(WaitUntil([&] { return !store->Get(Key(3)) && !store->Get(Key(77)); }));
  CHECK(store.WaitForEntries(9));
}

TEST_CASE("the state directory is private to its owner") {
  StoreScene store;
  struct stat info {};
  REQUIRE(stat((store.state()).c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0700);
}

TEST_CASE("a second store on one directory gets an error that names the locked path") {
  StoreScene store;
  const auto second = RocksdbStore::Open({.directory = store.state()}, store.statistics);
  REQUIRE_FALSE(second);
  CHECK_THAT(second.error().message, Contains("locked") && Contains(store.state()));
  store->Put(Key(1), Numbered(1, 100));
  CHECK(store->Get(Key(1)));
}

TEST_CASE("the disk tier stays within its limit, and keeps entries that are slow to compile") {
  constexpr uint64_t kLimit = 4 << 20;
  StoreScene store({.limit_bytes = kLimit});
  // 16 MB; every tenth entry took a hundred times as long to compile.
  constexpr int kEntries = 1600;
  for (int i = 0; i < kEntries; ++i) {
    store->Put(Key(i), Numbered(i, 10'000, i % 10 == 0 ? 5'000'000 : 50'000));
    CHECK(store->size().bytes <= kLimit);
  }
  store->Put(Key(kEntries), Numbered(kEntries, 10'000, 10'000'000));
  store->PutMeta("last", "written");
  REQUIRE(WaitUntil([&] {
    return store.statistics.Get(Counter::kEvictions) + store->size().entries == kEntries + 1;
  }));
  CHECK(store->size().bytes <= kLimit);
  CHECK(store->size().bytes > kLimit / 2);
  int dear = 0;
  int cheap = 0;
  for (int i = 0; i < kEntries; ++i) {
    if (store->Get(Key(i))) ++(i % 10 == 0 ? dear : cheap);
  }
  CHECK(dear == kEntries / 10);
  CHECK(dear + cheap + 1 == static_cast<int>(store->size().entries));
}

TEST_CASE("evictions are reported key by key") {
  std::mutex mutex;
  std::set<cccl_cache::Digest> evicted;
  StoreScene store({.limit_bytes = 1 << 20, .on_evict = [&](const auto& key, EvictionCause cause) {
                      const std::lock_guard lock(mutex);
                      if (cause == EvictionCause::kEvicted) evicted.insert(key);
                    }});
  for (int i = 0; i < 200; ++i) store->Put(Key(i), Numbered(i, 10'000));
  REQUIRE(WaitUntil([&] {
    const std::lock_guard lock(mutex);
    return evicted.size() + store->size().entries == 200;
  }));
  CHECK(evicted.size() == store.statistics.Get(Counter::kEvictions));
  CHECK_FALSE(evicted.empty());
  for (int i = 0; i < 200; ++i) CHECK(evicted.contains(Key(i)) == (store->Get(Key(i)) == nullptr));
}

TEST_CASE("eviction spares entries in use in a faster tier") {
  std::set<cccl_cache::Digest> in_use;
  for (int i = 0; i < 20; ++i) in_use.insert(Key(i));
  StoreScene store({.limit_bytes = 2 << 20,
                    .used_elsewhere = [&](const auto& key) { return in_use.contains(key); }});
  for (int i = 0; i < 100; ++i) store->Put(Key(i), Numbered(i, 10'000));
  REQUIRE(store.WaitForEntries(100));
  // Long enough for the clock to distinguish the first hundred from the rest.
  const auto start = std::chrono::system_clock::now();
  REQUIRE(WaitUntil(
      [&] { return std::chrono::system_clock::now() - start > std::chrono::seconds(3); }));
  for (int i = 100; i < 250; ++i) store->Put(Key(i), Numbered(i, 10'000));
  REQUIRE(WaitUntil(
      [&] { return store.statistics.Get(Counter::kEvictions) + store->size().entries == 250; }));
  int spared = 0;
  for (int i = 0; i < 20; ++i) spared += store->Get(Key(i)) != nullptr;
  int others = 0;
  for (int i = 20; i < 100; ++i) others += store->Get(Key(i)) != nullptr;
  CHECK(spared == 20);
  CHECK(others < 50);
}

TEST_CASE("a restarted store soon keeps a lowered limit") {
  StoreScene store;
  for (int i = 0; i < 3000; ++i) store->Put(Key(i), Numbered(i, 1000));
  store.Reopen({.limit_bytes = 1 << 20});
  CHECK(store->size().entries == 3000);
  CHECK(WaitUntil([&] { return store->size().bytes <= 1 << 20; }));
  CHECK(store->size().entries > 400);
}

TEST_CASE("an artifact larger than the disk tier is not kept and displaces nothing") {
  StoreScene store({.limit_bytes = 1 << 20});
  store->Put(Key(1), Numbered(1, 1000));
  store->Put(Key(2), Numbered(2, 2 << 20));
  store->Put(Key(3), Numbered(3, 1000));
  REQUIRE(store.WaitForEntries(2));
  CHECK(WaitUntil([&] { return !store->Get(Key(2)); }));
  CHECK(store->Get(Key(1)));
  CHECK(store->Get(Key(3)));
}

TEST_CASE("a put into a full queue is dropped and counted, and does not wait") {
  StoreScene store({.queue_bytes = 10'000});
  store->Put(Key(1), Numbered(1, 20'000));
  CHECK_FALSE(store->Get(Key(1)));
  CHECK(store.statistics.Get(Counter::kStoreErrors) == 1);
}

void SetFormat(const std::string& path, const std::string& format) {
  auto opened = Database::Open(path, {1 << 30, 1 << 20});
  const ColumnWrite write{Column::kMeta, "store.format", format};
  REQUIRE_FALSE(std::get<0>(opened)->Write({&write, 1}));
}

std::string FormatOf(const std::string& path) {
  auto opened = Database::Open(path, {1 << 30, 1 << 20});
  std::string format;
  std::get<0>(opened)->Read(Column::kMeta, "store.format",
                            [&](std::string_view value) { format = value; });
  return format;
}

TEST_CASE("a database of another format is set aside with a message, never misread") {
  StoreScene store;
  store.Close();
  SetFormat(store.state() + "/database", "999");
  store.Reopen();
  CHECK(store.reports.Contain("999"));
  CHECK(store.reports.Contain(store.state() + "/database.set-aside"));
  CHECK(FormatOf(store.state() + "/database.set-aside") == "999");
  store->Put(Key(1), Numbered(1, 100));
  CHECK(store->Get(Key(1)));
}

TEST_CASE("a database without a recorded format counts as damaged") {
  StoreScene store;
  store.Close();
  {
    auto opened = Database::Open(store.state() + "/database", {1 << 30, 1 << 20});
    const ColumnWrite nothing{Column::kMeta, "store.format", std::nullopt};
    REQUIRE_FALSE(std::get<0>(opened)->Write({&nothing, 1}));
  }
  store.Reopen();
  CHECK(std::filesystem::exists(store.state() + "/database.set-aside/CURRENT"));
}

TEST_CASE("a store that many threads use returns the right entries") {
  StoreScene store({.limit_bytes = 4 << 20});
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        const int number = (i * 13 + t * 101) % 300;
        if (const ArtifactPtr found = store->Get(Key(number))) {
          if (!Same(*found, *Numbered(number, 20'000))) ++wrong;
        } else {
          store->Put(Key(number), Numbered(number, 20'000));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(store.statistics.Get(Counter::kCorruptEntries) == 0);
}

TEST_CASE("closing the slot waits for the reader that still holds the database") {
  const TemporaryDirectory temporary;
  DatabaseSlot slot;
  slot.Set(std::move(std::get<0>(Database::Open(temporary / "database", {1 << 30, 1 << 20}))));
  std::atomic<bool> closed = false;
  std::shared_ptr<Database> reader = slot.Get();
  std::thread closer([&] {
    slot.Close();
    closed = true;
  });
  REQUIRE(WaitUntil([&] { return slot.Get() == nullptr; }));
  CHECK_FALSE(closed);
  reader.reset();
  closer.join();
  CHECK(closed);
}

}  // namespace
}  // namespace cccl_cache::daemon::rocksdb_store_test
