// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/write_queue.h"

#include <catch2/catch.hpp>
#include <thread>

#include "tests/unit/store/store_fixtures.h"

namespace cccl_cache::daemon::write_queue_test {
namespace {

using std::chrono::milliseconds;
using store_test::Key;
using store_test::Numbered;

constexpr milliseconds kNow{0};

TEST_CASE("a queued write is found until it is written") {
  WriteQueue queue(1 << 20);
  const ArtifactPtr artifact = Numbered(1, 1000);
  REQUIRE(queue.Put(Key(1), artifact));
  REQUIRE(queue.PutMeta("name", "value"));
  CHECK(queue.Find(Key(1)) == artifact);
  CHECK(queue.Next(kNow).artifacts.at(Key(1)) == artifact);
  CHECK(queue.Find(Key(1)) == artifact);
  CHECK(queue.FindMeta("name") == "value");
  queue.Written();
  CHECK_FALSE(queue.Find(Key(1)));
  CHECK_FALSE(queue.FindMeta("name"));
  CHECK(queue.empty());
}

WriteQueue::DepositChange Deposit(const std::string& contents) {
  return {"record", std::make_shared<const std::string>(contents)};
}

TEST_CASE("a queued deposit is found until it is written") {
  WriteQueue queue(1 << 20);
  CHECK_FALSE(queue.FindDeposit(Key(1)));
  REQUIRE(queue.PutDeposit(Key(1), Deposit("a")));
  CHECK(**queue.FindDeposit(Key(1)) == "a");
  CHECK(queue.Next(kNow).deposits.size() == 1);
  REQUIRE(queue.PutDeposit(Key(1), Deposit("b")));
  CHECK(**queue.FindDeposit(Key(1)) == "b");
  queue.Written();
  CHECK(*queue.Next(kNow).deposits.at(Key(1)).contents == "b");
  queue.Written();
  CHECK_FALSE(queue.FindDeposit(Key(1)));
  CHECK(queue.empty());
}

TEST_CASE("a deposit with a queued deletion is absent, whatever the disk holds") {
  WriteQueue queue(1 << 20);
  REQUIRE(queue.PutDeposit(Key(1), Deposit("a")));
  queue.DropDeposit(Key(1));
  REQUIRE(queue.FindDeposit(Key(1)));
  CHECK(*queue.FindDeposit(Key(1)) == nullptr);
  REQUIRE(queue.PutDeposit(Key(1), {"record", nullptr}));
  CHECK(queue.Next(kNow).deposits.at(Key(1)).record.empty());
}

TEST_CASE("a record queued after a deposit's contents keeps the contents") {
  WriteQueue queue(1 << 20);
  REQUIRE(queue.PutDeposit(Key(1), Deposit("a")));
  REQUIRE(queue.PutDeposit(Key(1), {"newer", nullptr}));
  const auto& change = queue.Next(kNow).deposits.at(Key(1));
  CHECK(change.record == "newer");
  CHECK(*change.contents == "a");
}

TEST_CASE("deposits count against the queue's bound, deletions always fit") {
  WriteQueue queue(10'000);
  CHECK(queue.PutDeposit(Key(1), Deposit(std::string(8'000, 'x'))));
  CHECK_FALSE(queue.PutDeposit(Key(2), Deposit(std::string(8'000, 'x'))));
  for (uint64_t i = 3; i < 200; ++i) queue.DropDeposit(Key(i));
  while (!queue.empty()) {
    CHECK_FALSE(queue.Next(kNow).empty());
    queue.Written();
  }
  CHECK(queue.PutDeposit(Key(2), Deposit(std::string(8'000, 'x'))));
}

TEST_CASE("a batch that was not written is returned again") {
  WriteQueue queue(1 << 20);
  REQUIRE(queue.Put(Key(1), Numbered(1, 1000)));
  CHECK(queue.Next(kNow).artifacts.contains(Key(1)));
  REQUIRE(queue.Put(Key(2), Numbered(2, 1000)));
  CHECK(queue.Next(kNow).artifacts.contains(Key(1)));
  CHECK_FALSE(queue.Next(kNow).artifacts.contains(Key(2)));
  queue.Written();
  CHECK(queue.Next(kNow).artifacts.contains(Key(2)));
}

TEST_CASE("a newer value replaces the one that is being written") {
  WriteQueue queue(1 << 20);
  REQUIRE(queue.PutMeta("name", "old"));
  CHECK(queue.Next(kNow).meta.at("name") == "old");
  REQUIRE(queue.PutMeta("name", "new"));
  CHECK(queue.FindMeta("name") == "new");
  queue.Written();
  CHECK(queue.Next(kNow).meta.at("name") == "new");
}

TEST_CASE("entries that are being written count against the queue's bound") {
  WriteQueue queue(25'000);
  CHECK(queue.Put(Key(1), Numbered(1, 10'000)));
  CHECK(queue.Next(kNow).artifacts.size() == 1);
  CHECK(queue.Put(Key(2), Numbered(2, 10'000)));
  CHECK_FALSE(queue.Put(Key(3), Numbered(3, 10'000)));
  CHECK_FALSE(queue.Find(Key(3)));
  queue.Written();
  CHECK(queue.Put(Key(3), Numbered(3, 10'000)));
}

TEST_CASE("a repeatedly queued key counts once against the bound") {
  WriteQueue queue(25'000);
  for (int i = 0; i < 100; ++i) CHECK(queue.Put(Key(1), Numbered(i, 10'000)));
  CHECK(queue.Next(kNow).artifacts.size() == 1);
  queue.Written();
  CHECK(queue.empty());
  CHECK(queue.Put(Key(2), Numbered(2, 20'000)));
}

TEST_CASE("a batch is bounded, and a larger artifact is a batch of its own") {
  WriteQueue queue(100 << 20);
  for (int i = 0; i < 4; ++i) REQUIRE(queue.Put(Key(i), Numbered(i, 9 << 20)));
  for (int i = 0; i < 4; ++i) {
    CHECK(queue.Next(kNow).artifacts.size() == 1);
    CHECK(queue.Next(kNow).artifacts.contains(Key(i)));
    queue.Written();
  }
}

TEST_CASE("an empty queue gives an empty batch after the timeout, and at once when closed") {
  WriteQueue queue(1 << 20);
  CHECK(queue.Next(milliseconds(1)).empty());
  std::thread closer([&] { queue.Close(); });
  CHECK(queue.Next(std::chrono::hours(1)).empty());
  queue.Pause(std::chrono::hours(1));
  closer.join();
  CHECK(queue.closed());
}

TEST_CASE("writes queued before the close can still be taken") {
  WriteQueue queue(1 << 20);
  REQUIRE(queue.Put(Key(1), Numbered(1, 10)));
  queue.Close();
  CHECK_FALSE(queue.empty());
  CHECK(queue.Next(std::chrono::hours(1)).artifacts.contains(Key(1)));
}

TEST_CASE("a dropped entry is deleted if it was written, and never written otherwise") {
  WriteQueue queue(1 << 20);
  REQUIRE(queue.Put(Key(1), Numbered(1, 1000)));
  REQUIRE(queue.Put(Key(2), Numbered(2, 1000)));
  CHECK(queue.Drop(Key(1)));
  CHECK_FALSE(queue.Find(Key(1)));
  const WriteQueue::Batch& batch = queue.Next(kNow);
  CHECK_FALSE(batch.artifacts.contains(Key(1)));
  CHECK(batch.artifacts.contains(Key(2)));
  CHECK(batch.dropped.contains(Key(1)));
  queue.Written();
  CHECK(queue.empty());
}

TEST_CASE("a broken entry is queued for deletion once") {
  WriteQueue queue(1 << 20);
  CHECK(queue.Drop(Key(1)));
  CHECK_FALSE(queue.Drop(Key(1)));
  CHECK(queue.Next(kNow).dropped.contains(Key(1)));
  CHECK_FALSE(queue.Drop(Key(1)));  // the deletion is being written
  queue.Written();
  CHECK(queue.empty());
}

TEST_CASE("an entry with a queued deletion is missing until it is put again") {
  WriteQueue queue(1 << 20);
  REQUIRE(queue.Put(Key(1), Numbered(1, 100)));
  REQUIRE(queue.Next(kNow).artifacts.size() == 1);
  CHECK_FALSE(queue.Drops(Key(1)));
  queue.Drop(Key(1));
  // The entry is being written, and will be deleted after that.
  CHECK(queue.Drops(Key(1)));
  CHECK_FALSE(queue.Find(Key(1)));
  queue.Written();
  CHECK(queue.Drops(Key(1)));
  REQUIRE(queue.Put(Key(1), Numbered(2, 100)));
  CHECK_FALSE(queue.Drops(Key(1)));
  CHECK(queue.ArtifactKeys() == std::vector{Key(1)});
  CHECK(queue.Next(kNow).dropped.size() == 1);
  CHECK_FALSE(queue.Drops(Key(1)));
}

TEST_CASE("a wait for deletions ends when its entries are deleted") {
  WriteQueue queue(1 << 20);
  const std::vector keys{Key(1), Key(2)};
  CHECK(queue.AwaitDropped(keys, kNow));
  queue.Drop(Key(1));
  REQUIRE(queue.Next(kNow).dropped.size() == 1);
  CHECK_FALSE(queue.AwaitDropped(keys, kNow));
  queue.Drop(Key(3));
  std::thread writer([&] { queue.Written(); });
  CHECK(queue.AwaitDropped(keys, std::chrono::minutes(10)));
  writer.join();
}

}  // namespace
}  // namespace cccl_cache::daemon::write_queue_test
