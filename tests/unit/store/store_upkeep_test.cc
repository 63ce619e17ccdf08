// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/store_upkeep.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/core/lookup/manifest.h"
#include "daemon/store/database.h"
#include "daemon/store/rows.h"
#include "tests/unit/core/fake_deposits.h"
#include "tests/unit/store/store_fixtures.h"
#include "tests/unit/store/store_scene.h"

namespace cccl_cache::daemon::store_upkeep_test {
namespace {

using std::chrono::sys_seconds;
using store_test::Key;
using store_test::Numbered;
using store_test::StoreScene;

constexpr uid_t kAlice = 1000;
constexpr std::chrono::seconds kDay{86'400};

sys_seconds Now() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

/// A store, its memory tier and deposits, and an administrator's calls.
class Scene {
 public:
  Scene() { Reopen(); }

  void Reopen() {
    upkeep_.reset();
    store.Reopen({.memory = &memory,
                  .used_elsewhere = {},
                  .on_evict = [this](const cccl_cache::Digest& key, EvictionCause cause) {
                    log.Note(key, cause);
                  }});
    upkeep_.emplace(StoreUpkeep::Parts{*store, memory, deposits, log, [](std::string_view) {}});
  }

  [[nodiscard]] Result<TierSize> Evict(const EvictionFilter& filter,
                                       const std::stop_token& left = {}) {
    return upkeep_->Evict(
        {}, filter, [](const TierSize&) { return Status(Ok{}); }, left);
  }
  [[nodiscard]] Result<Verified> Verify() {
    return upkeep_->Verify({}, [](const Verified&) { return Status(Ok{}); }, {});
  }
  /// Writes rows while the store is closed.
  void Write(std::span<const ColumnWrite> writes) {
    upkeep_.reset();
    store.Close();
    {
      auto opened = Database::Open(store.state() + "/database", {.limit_bytes = 10ull << 30});
      REQUIRE(std::holds_alternative<std::unique_ptr<Database>>(opened));
      REQUIRE_FALSE(std::get<0>(opened)->Write(writes));
    }
    Reopen();
  }
  void Keep(const cccl_cache::Digest& key) {
    store->Put(key, Numbered(1, 1000));
    memory.Put(key, Numbered(1, 1000));
  }
  [[nodiscard]] bool IsEvicted(const cccl_cache::Digest& key) {
    const auto eviction = log.Find(key);
    return !memory.Holds(key) && !store->Get(key) && eviction &&
           eviction->cause == EvictionCause::kEvicted;
  }

  EvictionLog log;
  MemoryStore memory{64 << 20};
  FakeDepositStore deposit_store;
  Statistics deposit_statistics;
  Deposits deposits{{}, {deposit_store, deposit_statistics}};
  StoreScene store;

 private:
  std::optional<StoreUpkeep> upkeep_;
};

cccl_cache::DigestPrefix Prefix(const cccl_cache::Digest& key, size_t digits) {
  return *cccl_cache::DigestPrefix::FromHex(key.Hex().substr(0, digits));
}

/// Returns two keys with the same first eight digits.
std::pair<cccl_cache::Digest, cccl_cache::Digest> Alike() {
  cccl_cache::Digest second = Key(1);
  second.bytes[5] ^= 1;
  return {Key(1), second};
}

TEST_CASE("a key is evicted from both tiers, written or not, and its eviction is logged") {
  Scene scene;
  for (int i = 0; i < 3; ++i) scene.Keep(Key(i));
  REQUIRE(scene.store.WaitForEntries(3));
  scene.Keep(Key(9));
  const auto evicted = scene.Evict({.keys = {Key(1), Key(9)}});
  REQUIRE(evicted.ok());
  CHECK(evicted->entries == 2);
  CHECK(evicted->bytes > 2000);
  CHECK(scene.IsEvicted(Key(1)));
  CHECK(scene.IsEvicted(Key(9)));
  CHECK(scene.memory.Holds(Key(0)));
  CHECK(scene.store->size().entries == 2);
  scene.Reopen();
  CHECK_FALSE(scene.store->Get(Key(9)));
  CHECK(scene.store->Get(Key(0)));
}

TEST_CASE("an entry that only memory has is evicted too") {
  Scene scene;
  scene.memory.Put(Key(1), Numbered(1, 1000));
  const auto evicted = scene.Evict({.keys = {Key(1)}});
  REQUIRE(evicted.ok());
  CHECK(evicted->entries == 1);
  CHECK(evicted->bytes > 1000);
  CHECK(scene.IsEvicted(Key(1)));
}

TEST_CASE("a prefix that several keys share is refused") {
  Scene scene;
  const auto [first, second] = Alike();
  scene.Keep(first);
  scene.Keep(second);
  REQUIRE(scene.store.WaitForEntries(2));
  const auto refused = scene.Evict({.keys = {Prefix(first, 8)}});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kInvalidRequest);
  CHECK(scene.store->size().entries == 2);
  CHECK(scene.Evict({.keys = {Prefix(second, 12)}})->entries == 1);
  CHECK(scene.IsEvicted(second));
  CHECK(scene.memory.Holds(first));
  CHECK(scene.Evict({.keys = {Prefix(Key(7), 12)}})->entries == 0);
}

TEST_CASE("a prefix is compared with present entries only, not with all that users received") {
  Scene scene;
  const auto [first, second] = Alike();
  for (const auto& key : {first, second}) {
    scene.store->answered().Note(kAlice, {key, Key(100), Key(101), "13.0", "sm_90", Now()});
  }
  scene.memory.Put(second, Numbered(1, 1000));
  const auto evicted = scene.Evict({.keys = {Prefix(first, 8)}});
  REQUIRE(evicted.ok());
  CHECK(evicted->entries == 1);
  CHECK(scene.IsEvicted(second));
}

TEST_CASE("an old entry is evicted unless memory has answered with it since") {
  Scene scene;
  std::vector<ColumnWrite> old;
  for (int i = 0; i < 3; ++i) {
    scene.store->Put(Key(i), Numbered(i, 1000));
    const UsageRecord record{1500, std::chrono::microseconds(1), Now() - 10 * kDay, 0};
    old.push_back({Column::kUsage, std::string(Key(i).View()), EncodeUsage(record)});
  }
  scene.store->Put(Key(3), Numbered(3, 1000));
  REQUIRE(scene.store.WaitForEntries(4));
  scene.Write(old);
  scene.memory.Put(Key(1), Numbered(1, 1000));
  CHECK(scene.Evict({.unused_for = 11 * kDay})->entries == 0);
  const auto evicted = scene.Evict({.unused_for = 9 * kDay});
  REQUIRE(evicted.ok());
  CHECK(evicted->entries == 2);
  CHECK(evicted->bytes == 3000);
  CHECK(scene.IsEvicted(Key(0)));
  CHECK(scene.IsEvicted(Key(2)));
  CHECK(scene.store->Get(Key(1)));
  CHECK(scene.store->Get(Key(3)));
}

TEST_CASE("a use in the memory tier is still known after a restart") {
  Scene scene;
  scene.store->Put(Key(1), Numbered(1, 1000));
  REQUIRE(scene.store.WaitForEntries(1));
  const UsageRecord record{1500, std::chrono::microseconds(1), Now() - 10 * kDay, 0};
  scene.Write(
      std::vector{ColumnWrite{Column::kUsage, std::string(Key(1).View()), EncodeUsage(record)}});
  scene.store->NoteUse(Key(1));
  scene.Reopen();
  CHECK(scene.Evict({.unused_for = kDay})->entries == 0);
}

TEST_CASE("an eviction of a toolchain takes the entries that users got from it") {
  Scene scene;
  const auto note = [&](uid_t uid, int key, const std::string& toolchain) {
    scene.store->answered().Note(
        uid, {Key(key), Key(100 + key), cccl_cache::Sha256(toolchain), "13.0", "sm_90", Now()});
    scene.Keep(Key(key));
    scene.Keep(ManifestKey(Key(100 + key)));
  };
  note(kAlice, 1, "old");
  note(kAlice, 2, "new");
  note(kAlice + 1, 3, "old");
  REQUIRE(scene.store.WaitForEntries(6));
  const auto evicted = scene.Evict({.toolchain = Prefix(cccl_cache::Sha256("old"), 8)});
  REQUIRE(evicted.ok());
  CHECK(evicted->entries == 4);
  for (const int key : {1, 3}) {
    CHECK(scene.IsEvicted(Key(key)));
    CHECK(scene.IsEvicted(ManifestKey(Key(100 + key))));
  }
  CHECK(scene.store->Get(Key(2)));
  CHECK(scene.store->Get(ManifestKey(Key(102))));
  const auto unknown = scene.Evict({.toolchain = Prefix(cccl_cache::Sha256("other"), 8)});
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().code == ErrorCode::kInvalidRequest);
}

TEST_CASE("the filter all evicts every entry of every tier and user, and all deposits") {
  Scene scene;
  for (int i = 0; i < 3000; ++i) scene.store->Put(Key(i), Numbered(i, 100));
  REQUIRE(scene.store.WaitForEntries(3000));
  scene.Keep(Key(5000));
  REQUIRE(scene.store->own().Put(kAlice, Key(1), Numbered(1, 1000), 1).ok());
  REQUIRE(scene.store->own().Get(kAlice, Key(1)).artifact);
  const auto contents = std::make_shared<const std::string>("made elsewhere");
  REQUIRE(scene.deposits.Insert(kAlice, "example", Key(1), contents).ok());
  const auto evicted = scene.Evict({.all = true});
  REQUIRE(evicted.ok());
  CHECK(evicted->entries == 3003);
  CHECK(scene.store->size().entries == 0);
  CHECK(scene.store->size().bytes == 0);
  CHECK(scene.memory.size().entries == 0);
  CHECK(scene.IsEvicted(Key(2999)));
  CHECK(scene.IsEvicted(Key(5000)));
  CHECK_FALSE(scene.store->own().Get(kAlice, Key(1)).artifact);
  CHECK(scene.deposits.gauges().kept.entries == 0);
  CHECK(scene.deposit_store.size() == 0);
}

TEST_CASE("an eviction by key evicts the shared entry and all private ones") {
  Scene scene;
  scene.Keep(Key(1));
  for (const uid_t uid : {kAlice, kAlice + 1}) {
    REQUIRE(scene.store->own().Put(uid, Key(1), Numbered(1, 1000), 1).ok());
    REQUIRE(scene.store->own().Put(uid, Key(2), Numbered(2, 1000), 1).ok());
  }
  CHECK(scene.Evict({.keys = {Prefix(Key(1), 16)}})->entries == 3);
  CHECK_FALSE(scene.store->own().Get(kAlice, Key(1)).artifact);
  CHECK(scene.store->own().Get(kAlice, Key(2)).artifact);
}

TEST_CASE("an eviction of unused entries spares a recent deposit") {
  Scene scene;
  const auto contents = std::make_shared<const std::string>("made elsewhere");
  REQUIRE(scene.deposits.Insert(kAlice, "example", Key(1), contents).ok());
  CHECK(scene.Evict({.unused_for = kDay})->entries == 0);
  CHECK(scene.deposits.gauges().kept.entries == 1);
}

TEST_CASE("an eviction ends when its caller leaves") {
  Scene scene;
  for (int i = 0; i < 3000; ++i) scene.store->Put(Key(i), Numbered(i, 100));
  REQUIRE(scene.store.WaitForEntries(3000));
  std::stop_source left;
  left.request_stop();
  const auto evicted = scene.Evict({.all = true}, left.get_token());
  REQUIRE_FALSE(evicted.ok());
  CHECK(evicted.error().code == ErrorCode::kCancelled);
  CHECK(scene.store->size().entries > 0);
}

TEST_CASE("disk space is not freed for a caller that left") {
  Scene scene;
  scene.Keep(Key(1));
  REQUIRE(scene.store.WaitForEntries(1));
  std::stop_source left;
  CHECK(scene.store->FreeSpace(left.get_token()).ok());
  left.request_stop();
  const Status freed = scene.store->FreeSpace(left.get_token());
  REQUIRE_FALSE(freed.ok());
  CHECK(freed.error().code == ErrorCode::kCancelled);
}

TEST_CASE("a verification drops and counts broken entries, in every table") {
  Scene scene;
  for (int i = 0; i < 5; ++i) scene.store->Put(Key(i), Numbered(i, 1000));
  REQUIRE(scene.store.WaitForEntries(5));
  for (int i = 0; i < 3; ++i) {
    REQUIRE(scene.store->own().Put(kAlice, Key(i), Numbered(i, 1000), 1).ok());
    const auto contents = std::make_shared<const std::string>("made elsewhere");
    REQUIRE(scene.deposits.Insert(kAlice, "example", Key(i), contents).ok());
  }
  const auto sound = scene.Verify();
  REQUIRE(sound.ok());
  CHECK(sound->read.entries == 11);
  CHECK(sound->all.entries == 11);
  CHECK(sound->read.bytes == sound->all.bytes);
  CHECK(sound->broken == 0);
  scene.Write(std::vector{ColumnWrite{Column::kArtifacts, std::string(Key(2).View()), "nonsense"},
                          ColumnWrite{Column::kPrivate, UserRowKey(kAlice, Key(1)), "nonsense"}});
  scene.deposit_store.Corrupt(scene.deposits.List(kAlice, std::nullopt, 1).front().key);
  const auto verified = scene.Verify();
  REQUIRE(verified.ok());
  CHECK(verified->read.entries == 11);
  CHECK(verified->broken == 3);
  CHECK(verified->unreadable == 0);
  CHECK(scene.store.statistics.Get(Counter::kCorruptEntries) == 2);
  CHECK(scene.log.Find(Key(2))->cause == EvictionCause::kCorrupt);
  CHECK(scene.store.WaitForEntries(4));
  const auto again = scene.Verify();
  REQUIRE(again.ok());
  CHECK(again->read.entries == 8);
  CHECK(again->broken == 0);
}

TEST_CASE("a verification is refused while another one runs") {
  Scene scene;
  const auto contents = std::make_shared<const std::string>("made elsewhere");
  REQUIRE(scene.deposits.Insert(kAlice, "example", Key(1), contents).ok());
  std::optional<ErrorCode> second;
  scene.deposit_store.during_get = [&] {
    const auto refused = scene.Verify();
    if (!refused) second = refused.error().code;
  };
  CHECK(scene.Verify().ok());
  CHECK(second == ErrorCode::kOverloaded);
  CHECK(scene.Verify().ok());
}

}  // namespace
}  // namespace cccl_cache::daemon::store_upkeep_test
