// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/lease/deposit_index.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

namespace cccl_cache::daemon::deposit_index_test {
namespace {

using cccl_cache::Digest;

constexpr uint64_t kCharge = DepositIndex::kLeastCharge;
constexpr std::chrono::sys_seconds kNow{std::chrono::seconds(1'000'000)};

Digest Key(int number) { return cccl_cache::Sha256(std::to_string(number)); }

DepositRecord Record(int number, uid_t uid, uint64_t size = kCharge) {
  return {.key = Key(number),
          .uid = uid,
          .scope = {},
          .name_space = "n",
          .size = size,
          .made = kNow,
          .used = kNow};
}

TEST_CASE("a full quota evicts only the user's own least recently used deposits") {
  DepositIndex index({.bytes_per_uid = 3 * kCharge, .bytes = 100 * kCharge});
  CHECK(index.Add(Record(100, 2)).empty());
  for (int i = 0; i < 3; ++i) CHECK(index.Add(Record(i, 1)).empty());
  static_cast<void>(index.Use(Key(0), kNow));
  CHECK(index.Add(Record(3, 1)) == std::vector{Key(1)});
  CHECK(index.Add(Record(4, 1, 2 * kCharge)) == std::vector{Key(2), Key(0)});
  CHECK(index.Find(Key(3)));
  CHECK(index.Find(Key(100)));
  CHECK_FALSE(index.Find(Key(1)));
}

TEST_CASE("above the limit of all users the largest user's oldest deposit is evicted") {
  DepositIndex index({.bytes_per_uid = 8 * kCharge, .bytes = 8 * kCharge});
  for (int i = 0; i < 6; ++i) CHECK(index.Add(Record(i, 1)).empty());
  for (int i = 10; i < 12; ++i) CHECK(index.Add(Record(i, 2)).empty());
  CHECK(index.Add(Record(12, 2)) == std::vector{Key(0)});
  CHECK(index.size().bytes == 8 * kCharge);
  CHECK(index.size().entries == 8);
}

TEST_CASE("all uids of an account share its limit of deposits") {
  const auto find = [](uid_t uid) { return Account(uid < 100'000 ? uid : 1000); };
  DepositIndex index({.bytes_per_uid = 8 * kCharge, .bytes = 16 * kCharge}, find);
  for (int i = 0; i < 8; ++i) CHECK(index.Add(Record(i, 1)).empty());
  for (int i = 100; i < 200; ++i) {
    const std::vector<Digest> gone = index.Add(Record(i, 100'000 + static_cast<uid_t>(i)));
    CHECK(gone.size() == (i < 108 ? 0 : 1));
  }
  for (int i = 0; i < 8; ++i) CHECK(index.Find(Key(i)));
  CHECK(index.Find(Key(199)));  // a new deposit does not evict itself
  CHECK(index.size().bytes == 16 * kCharge);
  CHECK(index.List(100'199, {}, 10).size() == 1);
  CHECK(index.List(1000, {}, 10).empty());
}

TEST_CASE("a full account evicts deposits of its uid with the most bytes") {
  const auto find = [](uid_t uid) { return Account(uid < 100'000 ? uid : 1000); };
  DepositIndex index({.bytes_per_uid = 8 * kCharge, .bytes = 16 * kCharge}, find);
  CHECK(index.Add(Record(100, 100'000)).empty());
  for (int i = 0; i < 7; ++i) CHECK(index.Add(Record(i, 1000)).empty());
  CHECK(index.Add(Record(7, 1000)) == std::vector{Key(0)});
  CHECK(index.Add(Record(101, 100'001, 6 * kCharge)).size() == 6);
  CHECK(index.Find(Key(100)));
  CHECK(index.Find(Key(101)));
}

TEST_CASE("deposits of uids without a known account are kept") {
  DepositIndex index({.bytes_per_uid = 4 * kCharge, .bytes = 16 * kCharge},
                     [](uid_t) { return std::nullopt; });
  for (int i = 0; i < 16; ++i) {
    CHECK(index.Add(Record(i, 200'000 + static_cast<uid_t>(i / 4))).empty());
  }
}

TEST_CASE("a small deposit counts as kLeastCharge bytes") {
  DepositIndex index({.bytes_per_uid = 2 * kCharge, .bytes = 100 * kCharge});
  CHECK(index.Add(Record(0, 1, 0)).empty());
  CHECK(index.Add(Record(1, 1, 1)).empty());
  CHECK(index.Add(Record(2, 1, 1)) == std::vector{Key(0)});
}

TEST_CASE("a deposit larger than a quota does not fit") {
  const DepositIndex index({.bytes_per_uid = 3 * kCharge, .bytes = 2 * kCharge});
  CHECK(index.Fits(2 * kCharge));
  CHECK_FALSE(index.Fits(2 * kCharge + 1));
}

TEST_CASE("a stored deposit that no longer fits is dropped, and evicts no other") {
  DepositIndex index({.bytes_per_uid = 3 * kCharge, .bytes = 3 * kCharge});
  CHECK(index.Add(Record(0, 1)).empty());
  CHECK(index.Add(Record(1, 2, 4 * kCharge)) == std::vector{Key(1)});
  CHECK(index.Find(Key(0)));
  CHECK_FALSE(index.Find(Key(1)));
}

TEST_CASE("a replaced deposit counts once, for the user of the last Add") {
  DepositIndex index({.bytes_per_uid = 10 * kCharge, .bytes = 10 * kCharge});
  CHECK(index.Add(Record(0, 1, 2 * kCharge)).empty());
  CHECK(index.Add(Record(0, 2, 3 * kCharge)).empty());
  CHECK(index.size().entries == 1);
  CHECK(index.size().bytes == 3 * kCharge);
  CHECK(index.List(1, {}, 10).empty());
  CHECK(index.List(2, {}, 10).size() == 1);
}

TEST_CASE("a user lists and removes only its own deposits") {
  DepositIndex index({});
  CHECK(index.Add(Record(0, 1)).empty());
  CHECK(index.List(2, {}, 10).empty());
  CHECK_FALSE(index.RemoveOwn(Key(0), 2));
  CHECK_FALSE(index.RemoveOwn(Key(1), 2));
  CHECK(index.Find(Key(0)));
  CHECK(index.RemoveOwn(Key(0), 1));
  CHECK_FALSE(index.Find(Key(0)));
  CHECK_FALSE(index.RemoveOwn(Key(0), 1));
  CHECK(index.size().bytes == 0);
}

TEST_CASE("a listing comes in pages, in the order of the keys") {
  DepositIndex index({});
  for (int i = 0; i < 25; ++i) CHECK(index.Add(Record(i, 1)).empty());
  std::vector<DepositRecord> all;
  std::optional<Digest> after;
  for (const size_t expected : {10, 10, 5, 0}) {
    const auto page = index.List(1, after, 10);
    CHECK(page.size() == expected);
    all.insert(all.end(), page.begin(), page.end());
    if (!page.empty()) after = page.back().key;
  }
  REQUIRE(all.size() == 25);
  for (size_t i = 1; i < all.size(); ++i) CHECK(all[i - 1].key < all[i].key);
}

TEST_CASE("a use is recorded at most once an hour") {
  DepositIndex index({});
  CHECK(index.Add(Record(0, 1)).empty());
  CHECK_FALSE(index.Use(Key(0), kNow + std::chrono::minutes(59)));
  const auto used = index.Use(Key(0), kNow + std::chrono::hours(1));
  REQUIRE(used);
  CHECK(used->used == kNow + std::chrono::hours(1));
  CHECK_FALSE(index.Use(Key(0), kNow + std::chrono::hours(1)));
  CHECK_FALSE(index.Use(Key(0), kNow - std::chrono::hours(9)));  // the clock was set back
  CHECK_FALSE(index.Use(Key(1), kNow));
}

}  // namespace
}  // namespace cccl_cache::daemon::deposit_index_test
