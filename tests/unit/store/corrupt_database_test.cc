// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>

#include "tests/unit/store/child_process.h"
#include "tests/unit/store/store_fixtures.h"
#include "tests/unit/store/store_scene.h"

namespace cccl_cache::daemon::corrupt_database_test {
namespace {

namespace fs = std::filesystem;
using store_test::ChildProcess;
using store_test::Fill;
using store_test::Key;
using store_test::Look;
using store_test::Numbered;
using store_test::OpenOrNull;
using store_test::StoreScene;
using store_test::Survey;

constexpr uint64_t kEntries = 200;

void MakeFilled(const std::string& state) {
  Statistics statistics;
  const auto store = OpenOrNull({.directory = state}, statistics);
  REQUIRE(store);
  Fill(*store, 0, kEntries);
}

std::vector<std::string> DatabaseFiles(const std::string& state) {
  std::vector<std::string> names;
  for (const auto& file : fs::directory_iterator(state + "/database")) {
    if (file.file_size() > 0) names.push_back(file.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

void FlipBit(const std::string& path, uint64_t offset, int bit) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(static_cast<char>(byte ^ (1 << bit)));
}

struct Damage {
  size_t tried = 0;
  size_t noticed = 0;  ///< databases with a missing entry
};

/// Opens copies of `state` with one flipped bit, at evenly spread places in each file.
void FlipEverywhere(const std::string& state, int places, Damage& damage) {
  for (const std::string& name : DatabaseFiles(state)) {
    for (int place = 0; place < places; ++place) {
      const TemporaryDirectory temporary;
      fs::copy(state, temporary / "state", fs::copy_options::recursive);
      const std::string path = temporary / "state/database/" + name;
      const uint64_t offset = (fs::file_size(path) - 1) * place / (places - 1);
      FlipBit(path, offset, place % 8);

      INFO(name << " at " << offset);
      Statistics statistics;
      const auto store = OpenOrNull({.directory = temporary / "state"}, statistics);
      REQUIRE(store);
      const Survey survey = Look(*store, 0, kEntries);
      CHECK(survey.wrong == 0);
      ++damage.tried;
      damage.noticed += survey.missing > 0;
      store->Put(Key(kEntries), Numbered(kEntries, 5000));
      CHECK(store->Get(Key(kEntries)));
    }
  }
}

TEST_CASE("corrupt_entry: a bit flipped anywhere in a closed database is a miss or does no harm") {
  const TemporaryDirectory temporary;
  MakeFilled(temporary / "state");
  Damage damage;
  FlipEverywhere(temporary / "state", 9, damage);
  CHECK(damage.tried > 60);
  CHECK(damage.noticed > 8);
}

TEST_CASE(
    "corrupt_entry: a bit flipped anywhere in a killed daemon's database is a miss or does no "
    "harm") {
  const TemporaryDirectory temporary;
  ChildProcess({"fill-and-die", temporary / "state", std::to_string(kEntries)}).Wait();
  Damage damage;
  FlipEverywhere(temporary / "state", 9, damage);
  CHECK(damage.tried > 30);
  CHECK(damage.noticed > 2);
}

TEST_CASE("a broken entry is counted, dropped, and replaced by the next put") {
  StoreScene store;
  Fill(*store, 0, kEntries);
  store.Close();
  for (const std::string& name : DatabaseFiles(store.state())) {
    const std::string path = store.state() + "/database/" + name;
    if (name.ends_with(".blob")) FlipBit(path, fs::file_size(path) / 2, 3);
  }
  size_t told = 0;  // changed on this thread only, because a read finds the corruption
  store.Reopen({.on_evict = [&](const auto&, EvictionCause cause) {
    if (cause == EvictionCause::kCorrupt) ++told;
  }});
  const Survey first = Look(*store, 0, kEntries);
  CHECK(first.wrong == 0);
  CHECK(first.missing > 0);
  CHECK(told == first.missing);
  CHECK(store.statistics.Get(Counter::kCorruptEntries) == first.missing);
  REQUIRE(store.WaitForEntries(kEntries - first.missing));
  Fill(*store, 0, kEntries);
  REQUIRE(store.WaitForEntries(kEntries));
  CHECK(Look(*store, 0, kEntries).right == kEntries);
}

TEST_CASE("an entry under another key than its own is a miss") {
  StoreScene store;
  Fill(*store, 0, 2);
  store.Close();
  {
    auto opened = Database::Open(store.state() + "/database", {1 << 30, 1 << 20});
    Database& database = *std::get<0>(opened);
    std::string entry;
    database.Read(Column::kArtifacts, Key(0).View(),
                  [&](std::string_view value) { entry = value; });
    const ColumnWrite write{Column::kArtifacts, std::string(Key(1).View()), entry};
    REQUIRE_FALSE(database.Write({&write, 1}));
  }
  store.Reopen();
  CHECK(store->Get(Key(0)));
  CHECK_FALSE(store->Get(Key(1)));
  CHECK(store.statistics.Get(Counter::kCorruptEntries) == 1);
}

TEST_CASE("a database that loses any one of its files still opens") {
  const TemporaryDirectory temporary;
  MakeFilled(temporary / "state");
  for (const std::string& name : DatabaseFiles(temporary / "state")) {
    for (const bool truncated : {false, true}) {
      const TemporaryDirectory copy;
      fs::copy(temporary / "state", copy / "state", fs::copy_options::recursive);
      const std::string path = copy / "state/database/" + name;
      INFO(name << (truncated ? " cut in half" : " removed"));
      if (truncated) {
        fs::resize_file(path, fs::file_size(path) / 2);
      } else {
        fs::remove(path);
      }
      Statistics statistics;
      const auto store = OpenOrNull({.directory = copy / "state"}, statistics);
      REQUIRE(store);
      CHECK(Look(*store, 0, kEntries).wrong == 0);
      store->Put(Key(kEntries), Numbered(kEntries, 5000));
      CHECK(store->Get(Key(kEntries)));
    }
  }
}

TEST_CASE("a database that turns out damaged while the daemon runs is replaced by a new one") {
  StoreScene store;
  Fill(*store, 0, kEntries);
  store.Close();
  for (const std::string& name : DatabaseFiles(store.state())) {
    // The first block of each table. Some of them have usage records.
    if (name.ends_with(".sst")) FlipBit(store.state() + "/database/" + name, 20, 1);
  }
  store.Reopen();
  Fill(*store, 0, kEntries);
  REQUIRE(store.WaitForEntries(kEntries));
  CHECK(Look(*store, 0, kEntries).right == kEntries);
  CHECK(store.reports.Contain("set aside"));
  CHECK(fs::exists(store.state() + "/database.set-aside"));
}

}  // namespace
}  // namespace cccl_cache::daemon::corrupt_database_test
