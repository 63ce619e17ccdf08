// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/artifact_table.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "daemon/core/lookup/entry.h"
#include "tests/unit/store/open_database.h"
#include "tests/unit/store/store_fixtures.h"

namespace cccl_cache::daemon::artifact_table_test {
namespace {

using cccl_cache::Digest;
using store_test::Key;
using store_test::Numbered;

struct Scene {
  explicit Scene(uint64_t limit = 64 << 20,
                 std::function<bool(const Digest&)> used_elsewhere = nullptr)
      : table({limit, std::move(used_elsewhere),
               [this](const Digest& key, EvictionCause cause) {
                 CHECK(cause == EvictionCause::kEvicted);
                 on_evict.insert(key);
               }},
              statistics) {
    REQUIRE_FALSE(table.Load(*database, false));
  }

  /// Writes `count` artifacts from `first` on, each with this many bytes.
  void Write(uint64_t first, uint64_t count, size_t bytes = 300) {
    WriteQueue::Batch batch;
    for (uint64_t i = first; i < first + count; ++i) batch.artifacts[Key(i)] = Numbered(i, bytes);
    REQUIRE_FALSE(table.Apply(*database, batch));
  }
  void Drop(uint64_t number) {
    WriteQueue::Batch batch;
    batch.dropped.insert(Key(number));
    REQUIRE_FALSE(table.Apply(*database, batch));
  }
  [[nodiscard]] bool Holds(uint64_t number) { return ArtifactTable::Holds(*database, Key(number)); }
  [[nodiscard]] UsageRecord UsageOf(uint64_t number) {
    const auto value = database.Get(Column::kUsage, std::string(Key(number).View()));
    REQUIRE(value);
    return DecodeUsage(*value).value();
  }

  store_test::OpenDatabase database;
  Statistics statistics;
  std::set<Digest> on_evict;
  ArtifactTable table;
};

TEST_CASE("an artifact is written as an entry with its usage, and counted") {
  Scene scene;
  scene.Write(1, 1);
  CHECK(scene.Holds(1));
  CHECK_FALSE(scene.Holds(2));
  const auto bytes = scene.database.Get(Column::kArtifacts, std::string(Key(1).View()));
  REQUIRE(bytes);
  CHECK(*bytes == EncodeEntry(Key(1), *Numbered(1, 300)));
  CHECK(scene.UsageOf(1).bytes > bytes->size());
  CHECK(scene.UsageOf(1).compile_time == Numbered(1, 300)->compile_time);
  CHECK(scene.table.size().entries == 1);
  CHECK(scene.table.size().bytes == scene.UsageOf(1).bytes);
}

TEST_CASE("an artifact that is written again replaces the earlier one") {
  Scene scene;
  scene.Write(1, 1, 5000);
  scene.Write(1, 1, 300);
  CHECK(scene.table.size().entries == 1);
  CHECK(scene.table.size().bytes == scene.UsageOf(1).bytes);
}

TEST_CASE("a dropped artifact is gone with its usage, and dropping a missing one does nothing") {
  Scene scene;
  scene.Write(1, 2);
  scene.Drop(1);
  scene.Drop(7);
  CHECK_FALSE(scene.Holds(1));
  CHECK_FALSE(scene.database.Get(Column::kArtifacts, std::string(Key(1).View())));
  CHECK(scene.table.size().entries == 1);
  CHECK(scene.table.size().bytes == scene.UsageOf(2).bytes);
  CHECK(scene.on_evict.empty());  // a drop is no eviction
}

TEST_CASE("a client's small value replaces none of the table's own") {
  Scene scene;
  scene.Write(1, 1);
  WriteQueue::Batch batch;
  batch.meta["store.totals"] = "a client's";
  REQUIRE_FALSE(scene.table.Apply(*scene.database, batch));
  CHECK(ArtifactTable::ReadMeta(*scene.database, "store.totals") == "a client's");
  CHECK(ArtifactTable::ReadMeta(*scene.database, "none") == std::nullopt);
  REQUIRE_FALSE(scene.table.Load(*scene.database, false));
  CHECK(scene.table.size().entries == 1);
}

TEST_CASE("the next run reads the totals, or counts again if they may be wrong") {
  Scene scene;
  scene.Write(1, 10);
  const TierSize size = scene.table.size();
  const auto loaded = [&](bool recount) {
    Statistics statistics;
    ArtifactTable table({}, statistics);
    REQUIRE_FALSE(table.Load(*scene.database, recount));
    return table.size();
  };
  CHECK(loaded(false).entries == 10);
  CHECK(loaded(false).bytes == size.bytes);
  scene.database.Put(Column::kMeta, "store.totals", EncodeTotals({3, 4}));
  CHECK(loaded(false).entries == 3);
  CHECK(loaded(true).bytes == size.bytes);
  scene.database.Put(Column::kMeta, "store.totals", "broken");
  CHECK(loaded(false).entries == 10);
  scene.database.Put(Column::kMeta, "store.totals", std::nullopt);
  CHECK(loaded(false).entries == 10);
}

TEST_CASE("an entry larger than the limit is left out and counted") {
  Scene scene(10'000);
  scene.Write(1, 1, 20'000);
  CHECK_FALSE(scene.Holds(1));
  CHECK(scene.statistics.Get(Counter::kTooLarge) == 1);
  CHECK(scene.table.size().entries == 0);
}

TEST_CASE("the limit is kept under any load, and evictions are reported and counted") {
  constexpr uint64_t kLimit = 200'000;
  Scene scene(kLimit);
  for (uint64_t first = 0; first < 400; first += 50) {
    scene.Write(first, 50, 1000);
    CHECK(scene.table.size().bytes <= kLimit);
  }
  CHECK(scene.table.size().bytes > kLimit / 2);
  CHECK_FALSE(scene.table.over_limit());
  CHECK(scene.table.size().entries + scene.on_evict.size() == 400);
  CHECK(scene.statistics.Get(Counter::kEvictions) == scene.on_evict.size());
  for (const Digest& key : scene.on_evict) CHECK_FALSE(ArtifactTable::Holds(*scene.database, key));
}

TEST_CASE("an artifact that another tier uses stays when others are evicted") {
  constexpr uint64_t kUsed = 5;
  Scene scene(100'000, [](const Digest& key) { return key == Key(kUsed); });
  scene.Write(0, 10, 1000);
  // None of the ten was used for 30 days.
  for (uint64_t i = 0; i < 10; ++i) {
    UsageRecord record = scene.UsageOf(i);
    record.last_use -= std::chrono::hours(24 * 30);
    scene.database.Put(Column::kUsage, std::string(Key(i).View()), EncodeUsage(record));
  }
  scene.Write(100, 65, 1000);
  REQUIRE_FALSE(scene.on_evict.empty());
  CHECK(scene.Holds(kUsed));
}

TEST_CASE("Trim evicts entries down to a lowered limit") {
  Scene scene;
  scene.Write(0, 100, 1000);
  Statistics statistics;
  ArtifactTable table({.limit_bytes = 50'000}, statistics);
  REQUIRE_FALSE(table.Load(*scene.database, false));
  REQUIRE(table.over_limit());
  REQUIRE_FALSE(table.Trim(*scene.database));
  CHECK_FALSE(table.over_limit());
  CHECK(table.size().entries > 20);
}

TEST_CASE("wrong totals without entries do not keep out new entries") {
  Scene scene(100'000);
  scene.database.Put(Column::kMeta, "store.totals", EncodeTotals({1000, 90'000'000}));
  REQUIRE_FALSE(scene.table.Load(*scene.database, false));
  scene.Write(1, 1);
  CHECK(scene.Holds(1));
  CHECK(scene.table.size().entries == 1);
}

TEST_CASE("uses are added to an entry's record, and dropped for missing entries") {
  Scene scene;
  scene.Write(1, 1);
  const UsageRecord before = scene.UsageOf(1);
  const UsageLedger::Pending uses = {{Key(1), {3, before.last_use + std::chrono::seconds(9)}},
                                     {Key(2), {5, before.last_use}}};
  REQUIRE_FALSE(scene.table.RecordUses(*scene.database, uses));
  REQUIRE_FALSE(scene.table.RecordUses(*scene.database, {{Key(1), {1, before.last_use}}}));
  REQUIRE_FALSE(scene.table.RecordUses(*scene.database, {}));
  CHECK(scene.UsageOf(1).hits == 4);
  CHECK(scene.UsageOf(1).last_use == before.last_use + std::chrono::seconds(9));
  CHECK_FALSE(scene.Holds(2));
}

TEST_CASE("the ledger counts uses by key, and Take returns them once") {
  UsageLedger ledger;
  ledger.Used(Key(1));
  ledger.Used(Key(1));
  ledger.Used(Key(2));
  const auto pending = ledger.Take();
  CHECK(pending.at(Key(1)).hits == 2);
  CHECK(pending.at(Key(2)).hits == 1);
  CHECK(pending.at(Key(1)).last.time_since_epoch().count() > 1'700'000'000);
  CHECK(ledger.Take().empty());
}

TEST_CASE("a full ledger counts only the uses of keys that it has") {
  UsageLedger ledger;
  for (int i = 0; i < 20'000; ++i) ledger.Used(Key(i));
  ledger.Used(Key(0));
  const auto pending = ledger.Take();
  CHECK(pending.size() == 16'384);
  CHECK(pending.at(Key(0)).hits == 2);
}

}  // namespace
}  // namespace cccl_cache::daemon::artifact_table_test
