// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/private_store.h"

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <variant>

#include "daemon/core/lookup/entry.h"
#include "daemon/store/memory_store.h"
#include "daemon/store/rows.h"
#include "tests/unit/store/open_database.h"
#include "tests/unit/store/store_scene.h"

namespace cccl_cache::daemon::private_store_test {
namespace {

using store_test::Key;
using store_test::Numbered;
using store_test::Same;
using store_test::StoreScene;

constexpr uid_t kAlice = 1000;
constexpr uid_t kBob = 0x12345678;
constexpr size_t kBytes = 20'000;  // more than the least charge

Result<Inserted> Put(StoreScene& scene, uid_t uid, uint64_t number, uint64_t generation = 1) {
  return scene->own().Put(uid, Key(number), Numbered(number, kBytes), generation);
}

bool Has(StoreScene& scene, uid_t uid, uint64_t number) {
  const ArtifactPtr artifact = scene->own().Get(uid, Key(number)).artifact;
  return artifact != nullptr && Same(*artifact, *Numbered(number, kBytes));
}

RocksdbStoreOptions Limited(uint64_t per_user, uint64_t in_all) {
  RocksdbStoreOptions options;
  options.private_limits = {per_user, in_all};
  return options;
}

/// Changes the row of a user's entry in a closed store.
void Overwrite(const StoreScene& scene, uid_t uid, uint64_t number,
               const std::optional<std::string>& value) {
  auto opened = Database::Open(scene.state() + "/database", {});
  auto* database = std::get_if<0>(&opened);
  REQUIRE(database != nullptr);
  const ColumnWrite write{Column::kPrivate, UserRowKey(uid, Key(number)), value};
  REQUIRE_FALSE((*database)->Write({&write, 1}));
}

TEST_CASE("a private entry is found only by its user, at once and after a restart") {
  StoreScene scene;
  CHECK_FALSE(scene->own().MayHave(kAlice, Key(1)));
  REQUIRE(Put(scene, kAlice, 1));
  for (int opening = 0; opening < 2; ++opening) {
    CHECK(scene->own().MayHave(kAlice, Key(1)));
    CHECK_FALSE(scene->own().MayHave(kBob, Key(1)));
    CHECK(Has(scene, kAlice, 1));
    CHECK_FALSE(Has(scene, kBob, 1));
    CHECK_FALSE(Has(scene, kAlice, 2));
    scene.Reopen();
  }
}

TEST_CASE("a second insertion reports the earlier one, and replaces it") {
  StoreScene scene;
  CHECK(*Put(scene, kAlice, 1) == Inserted::kNow);
  CHECK(*scene->own().Put(kAlice, Key(1), Numbered(2, 300), 2) == Inserted::kBefore);
  CHECK(Same(*scene->own().Get(kAlice, Key(1)).artifact, *Numbered(2, 300)));
  CHECK(*Put(scene, kBob, 1) == Inserted::kNow);
}

TEST_CASE("private entries of different users and shared ones under one key are separate") {
  StoreScene scene;
  scene->Put(Key(1), Numbered(11, 300));
  REQUIRE(scene->own().Put(kAlice, Key(1), Numbered(12, 300), 1));
  REQUIRE(scene->own().Put(kBob, Key(1), Numbered(13, 300), 1));
  REQUIRE(scene.WaitForEntries(1));
  CHECK(Same(*scene->Get(Key(1)), *Numbered(11, 300)));
  CHECK(Same(*scene->own().Get(kAlice, Key(1)).artifact, *Numbered(12, 300)));
  CHECK(Same(*scene->own().Get(kBob, Key(1)).artifact, *Numbered(13, 300)));
}

TEST_CASE("a second read of a private entry is answered from memory, for its user only") {
  MemoryStore memory(1 << 20);
  RocksdbStoreOptions options;
  options.memory = &memory;
  StoreScene scene(options);
  REQUIRE(Put(scene, kAlice, 1));
  CHECK(scene->own().Get(kAlice, Key(1)).tier == TierName::kDisk);
  CHECK(scene->own().Get(kAlice, Key(1)).tier == TierName::kMemory);
  CHECK(memory.Get(Key(1)) == nullptr);
  CHECK_FALSE(Has(scene, kBob, 1));
  REQUIRE(scene->own().Put(kAlice, Key(1), Numbered(2, 300), 2));
  CHECK(Same(*scene->own().Get(kAlice, Key(1)).artifact, *Numbered(2, 300)));
}

TEST_CASE("a user's latest entry is found, despite concurrent readers") {
  MemoryStore memory(64 << 20);
  RocksdbStoreOptions options;
  options.memory = &memory;
  StoreScene scene(options);
  for (uint64_t round = 1; round <= 20; ++round) {
    // Reading the earlier entry takes longer than inserting the later one.
    REQUIRE(scene->own().Put(kAlice, Key(1), Numbered(round, 2'000'000), 2 * round));
    std::latch begun(2);
    std::jthread reader([&] {
      begun.count_down();
      (void)scene->own().Get(kAlice, Key(1));
    });
    begun.arrive_and_wait();
    const ArtifactPtr later = Numbered(round, 300);
    REQUIRE(scene->own().Put(kAlice, Key(1), later, 2 * round + 1));
    reader.join();
    REQUIRE(Same(*scene->own().Get(kAlice, Key(1)).artifact, *later));
  }
}

TEST_CASE("a corrupt private entry is a miss, counted once and dropped") {
  StoreScene scene;
  REQUIRE(Put(scene, kAlice, 1));
  REQUIRE(Put(scene, kAlice, 2));
  scene.Close();
  std::string damaged = EncodeEntry(Key(1), *Numbered(1, kBytes));
  damaged[damaged.size() / 2] ^= 1;
  Overwrite(scene, kAlice, 1, damaged);
  scene.Reopen();
  CHECK_FALSE(Has(scene, kAlice, 1));
  CHECK_FALSE(Has(scene, kAlice, 1));
  CHECK(Has(scene, kAlice, 2));
  CHECK(scene.statistics.Get(Counter::kCorruptEntries) == 1);
}

TEST_CASE("a private row with the entry of another key is a miss") {
  StoreScene scene;
  REQUIRE(Put(scene, kAlice, 1));
  scene.Close();
  Overwrite(scene, kAlice, 1, EncodeEntry(Key(2), *Numbered(2, kBytes)));
  scene.Reopen();
  CHECK_FALSE(Has(scene, kAlice, 1));
}

TEST_CASE("a user's oldest entry is evicted for its latest") {
  StoreScene scene(Limited(3 * kBytes + 3'000, 100 * kBytes));
  for (uint64_t i = 1; i <= 3; ++i) REQUIRE(Put(scene, kAlice, i, i));
  REQUIRE(Put(scene, kBob, 1));
  REQUIRE(Put(scene, kAlice, 4, 4));
  CHECK_FALSE(Has(scene, kAlice, 1));
  for (uint64_t i = 2; i <= 4; ++i) CHECK(Has(scene, kAlice, i));
  CHECK(Has(scene, kBob, 1));
}

TEST_CASE("the oldest of thousands of entries are evicted first, whatever their keys") {
  constexpr uint64_t kEntries = 2'000;
  const auto put = [](StoreScene& scene, uint64_t number, uint64_t generation) {
    return scene->own().Put(kAlice, Key(number), Numbered(number, 10), generation);
  };
  StoreScene scene(Limited(kEntries * PrivateEntries::kLeastCharge, 100 << 20));
  for (uint64_t i = 0; i < kEntries; ++i) REQUIRE(put(scene, i, 1 + i / 500));
  for (uint64_t i = kEntries; i < kEntries + 1'000; ++i) REQUIRE(put(scene, i, 9));
  const auto has = [&](uint64_t i) { return scene->own().Get(kAlice, Key(i)).artifact != nullptr; };
  for (uint64_t i = 0; i < 500; ++i) REQUIRE_FALSE(has(i));
  for (uint64_t i = 1'000; i < kEntries + 1'000; ++i) REQUIRE(has(i));
}

TEST_CASE("an insertion has a greater generation than all earlier ones, whatever the clock") {
  StoreScene scene;
  const std::chrono::system_clock::time_point now(std::chrono::seconds(1'000'000));
  const uint64_t first = scene->own().NextGeneration(kAlice, now);
  REQUIRE(Put(scene, kAlice, 1, first));
  for (int opening = 0; opening < 2; ++opening) {
    CHECK(scene->own().NextGeneration(kAlice, now) > first);
    CHECK(scene->own().NextGeneration(kAlice, now - std::chrono::hours(24)) > first);
    CHECK(scene->own().NextGeneration(kAlice, now + std::chrono::hours(24)) > first + 1);
    scene.Reopen();
  }
}

TEST_CASE("an insertion does not evict its own earlier entries") {
  StoreScene scene(Limited(2 * kBytes + 2'000, 100 * kBytes));
  REQUIRE(Put(scene, kAlice, 1, 7));
  REQUIRE(Put(scene, kAlice, 2, 7));
  const Result<Inserted> refused = Put(scene, kAlice, 3, 7);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kOverloaded);
  CHECK(refused.error().message.find("private_limit_per_uid") != std::string::npos);
  CHECK(Has(scene, kAlice, 1));
  CHECK(Has(scene, kAlice, 2));
}

TEST_CASE("above the total limit, the oldest entries of the largest account are evicted") {
  StoreScene scene(Limited(10 * kBytes, 3 * kBytes + 3'000));
  REQUIRE(Put(scene, kBob, 1, 1));
  REQUIRE(Put(scene, kAlice, 1, 1));
  REQUIRE(Put(scene, kAlice, 2, 2));
  REQUIRE(Put(scene, 1001, 3, 3));
  CHECK_FALSE(Has(scene, kAlice, 1));
  CHECK(Has(scene, kAlice, 2));
  CHECK(Has(scene, kBob, 1));
  CHECK(Has(scene, 1001, 3));
}

TEST_CASE("an insertion by the largest account does not evict its own earlier entries") {
  StoreScene scene(Limited(10 * kBytes, 3 * kBytes + 3'000));
  REQUIRE(Put(scene, kAlice, 1, 1));
  for (uint64_t i = 1; i <= 2; ++i) REQUIRE(Put(scene, kBob, i, 7));
  const Result<Inserted> refused = Put(scene, kBob, 3, 7);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kOverloaded);
  CHECK(refused.error().message.find("raise private_limit") != std::string::npos);
  CHECK(Has(scene, kAlice, 1));
  for (uint64_t i = 1; i <= 2; ++i) CHECK(Has(scene, kBob, i));
}

TEST_CASE("entries of containers above half of the total are evicted for node users") {
  StoreScene scene(Limited(3 * kBytes + 3'000, 4 * kBytes + 4'000));
  const uid_t other = kFirstContainerUser + 1;
  for (uint64_t i = 1; i <= 3; ++i) REQUIRE(Put(scene, kFirstContainerUser, i, i));
  REQUIRE(Put(scene, other, 1, 1));
  for (uint64_t i = 1; i <= 2; ++i) REQUIRE(Put(scene, kAlice, i, i));
  REQUIRE(Put(scene, other, 2, 2));
  for (uint64_t i = 1; i <= 2; ++i) CHECK(Has(scene, kAlice, i));
  CHECK_FALSE(Has(scene, kFirstContainerUser, 2));
}

TEST_CASE("all uids of one account together have its limit, also after a restart") {
  constexpr uid_t kFirst = 100'000;
  RocksdbStoreOptions limits = Limited(3 * kBytes + 3'000, 6 * kBytes + 6'000);
  limits.private_limits.find_account = [](uid_t uid) {
    return Account(uid >= kFirst && uid < kFirst + 65'536 ? kAlice : uid);
  };
  StoreScene scene(limits);
  for (uint64_t i = 0; i < 12; ++i) {
    REQUIRE(Put(scene, kFirst + static_cast<uid_t>(i), i, i + 1));
    if (i == 6) scene.Reopen(limits);
  }
  uint64_t held = 0;
  for (uint64_t i = 0; i < 12; ++i) held += Has(scene, kFirst + static_cast<uid_t>(i), i) ? 1 : 0;
  CHECK(held == 3);
  CHECK(Has(scene, kFirst + 11, 11));
  CHECK_FALSE(Has(scene, kAlice, 11));
  for (uint64_t i = 0; i < 3; ++i) REQUIRE(Put(scene, kBob, i, i + 1));
  for (uint64_t i = 0; i < 3; ++i) CHECK(Has(scene, kBob, i));
}

TEST_CASE("an entry that can't be kept evicts nothing") {
  RocksdbStoreOptions limits = Limited(3 * kBytes + 3'000, 3 * kBytes + 3'000);
  limits.private_limits.find_account = [](uid_t uid) {
    return Account(uid == 100'000 ? kAlice : uid);
  };
  StoreScene scene(limits);
  REQUIRE(Put(scene, kAlice, 1, 1));
  for (uint64_t i = 0; i < 2; ++i) REQUIRE(Put(scene, kBob, i, i + 1));
  CHECK_FALSE(scene->own().Put(100'000, Key(2), Numbered(2, 4 * kBytes), 2).ok());
  CHECK(Has(scene, kAlice, 1));
  for (uint64_t i = 0; i < 2; ++i) CHECK(Has(scene, kBob, i));
}

TEST_CASE("an entry that is inserted again counts once, also after a restart") {
  const auto limits = Limited(2 * kBytes + 2'000, 100 * kBytes);
  StoreScene scene(limits);
  for (uint64_t generation = 1; generation <= 5; ++generation) {
    REQUIRE(Put(scene, kAlice, 1, generation));
    scene.Reopen(limits);
  }
  REQUIRE(Put(scene, kAlice, 2, 5));
  CHECK(Has(scene, kAlice, 1));
  CHECK(Has(scene, kAlice, 2));
}

TEST_CASE("MayHave is true only for the entry's user, and false after its eviction") {
  StoreScene scene(Limited(2 * kBytes + 2'000, 100 * kBytes));
  REQUIRE(Put(scene, kAlice, 1, 1));
  REQUIRE(Put(scene, kAlice, 2, 1));
  REQUIRE(Put(scene, kAlice, 3, 3));
  CHECK(scene->own().MayHave(kAlice, Key(3)));
  CHECK_FALSE(scene->own().MayHave(kBob, Key(3)));
  for (const uint64_t number : {1, 2}) {
    CHECK(scene->own().MayHave(kAlice, Key(number)) == Has(scene, kAlice, number));
  }
  CHECK(scene->own().List(kAlice, "", 10).size() == 2);
}

TEST_CASE("an empty entry counts 16 KiB, also after a restart") {
  const auto limits = Limited(2 * PrivateEntries::kLeastCharge, 1 << 20);
  StoreScene scene(limits);
  for (uint64_t number = 1; number <= 3; ++number) {
    REQUIRE(scene->own().Put(kAlice, Key(number), Numbered(number, 0), number));
    scene.Reopen(limits);
  }
  CHECK_FALSE(scene->own().MayHave(kAlice, Key(1)));
  CHECK(scene->own().MayHave(kAlice, Key(2)));
  CHECK(scene->own().MayHave(kAlice, Key(3)));
}

TEST_CASE("a start evicts a user's oldest entries down to lowered limits") {
  StoreScene scene;
  for (uint64_t i = 1; i <= 4; ++i) REQUIRE(Put(scene, kAlice, i, 5 - i));
  REQUIRE(Put(scene, kBob, 1));
  for (const bool lowered : {true, false}) {
    scene.Reopen(lowered ? Limited(2 * kBytes + 2'000, 100 * kBytes) : RocksdbStoreOptions());
    for (uint64_t i = 1; i <= 2; ++i) CHECK(Has(scene, kAlice, i));
    for (uint64_t i = 3; i <= 4; ++i) CHECK_FALSE(scene->own().MayHave(kAlice, Key(i)));
    CHECK(Has(scene, kBob, 1));
  }
}

/// Makes this process's writes to files fail.
class NoWrites {
 public:
  NoWrites() {
    std::signal(SIGXFSZ, SIG_IGN);
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit none{0, before_.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &none) == 0);
  }
  ~NoWrites() { setrlimit(RLIMIT_FSIZE, &before_); }
  NoWrites(const NoWrites&) = delete;
  NoWrites& operator=(const NoWrites&) = delete;

 private:
  rlimit before_{};
};

TEST_CASE("a start that can't evict entries still finds all of them") {
  store_test::OpenDatabase database;
  DatabaseSlot slot;
  slot.Set(database.Release());
  Statistics statistics;
  PrivateStore before({}, slot, nullptr, statistics);
  for (uint64_t i = 1; i <= 3; ++i) {
    REQUIRE(before.Put(kAlice, Key(i), Numbered(i, kBytes), i));
  }
  PrivateStore after({kBytes, kBytes}, slot, nullptr, statistics);
  {
    const NoWrites no_writes;
    after.Load(*slot.Get());
  }
  for (uint64_t i = 1; i <= 3; ++i) CHECK(after.MayHave(kAlice, Key(i)));
}

TEST_CASE("a usage row without its entry is a miss, and is dropped") {
  StoreScene scene;
  REQUIRE(Put(scene, kAlice, 1));
  scene.Close();
  Overwrite(scene, kAlice, 1, std::nullopt);
  scene.Reopen();
  CHECK_FALSE(Has(scene, kAlice, 1));
  CHECK_FALSE(scene->own().MayHave(kAlice, Key(1)));
  CHECK(scene.statistics.Get(Counter::kCorruptEntries) == 0);
}

}  // namespace
}  // namespace cccl_cache::daemon::private_store_test
