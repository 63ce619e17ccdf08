// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/memory_store.h"

#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "tests/unit/store/store_fixtures.h"

namespace cccl_cache::daemon::memory_store_test {
namespace {

using store_test::Key;
using store_test::Numbered;

TEST_CASE("the memory tier returns the same object") {
  MemoryStore store(1 << 20);
  const ArtifactPtr artifact = Numbered(1, 1000);
  CHECK_FALSE(store.Get(Key(1)));
  store.Put(Key(1), artifact);
  CHECK(store.Get(Key(1)) == artifact);
  CHECK(store.size().entries == 1);
  CHECK(store.size().bytes > 1000);
}

TEST_CASE("the least recently used artifact leaves the memory tier first") {
  MemoryStore store(35'000);
  for (int i = 0; i < 3; ++i) store.Put(Key(i), Numbered(i, 10'000));
  REQUIRE(store.Get(Key(0)));
  store.Put(Key(3), Numbered(3, 10'000));
  CHECK(store.Get(Key(0)));
  CHECK_FALSE(store.Get(Key(1)));
  CHECK(store.Get(Key(2)));
  CHECK(store.Get(Key(3)));
}

TEST_CASE("the memory tier never exceeds its bound") {
  MemoryStore store(100'000);
  for (int i = 0; i < 200; ++i) {
    store.Put(Key(i), Numbered(i, 100 + 137 * (i % 50)));
    CHECK(store.size().bytes <= 100'000);
  }
  CHECK(store.size().entries > 5);
}

TEST_CASE("an artifact larger than the memory tier is not kept and displaces nothing") {
  MemoryStore store(20'000);
  store.Put(Key(1), Numbered(1, 1000));
  store.Put(Key(2), Numbered(2, 30'000));
  CHECK_FALSE(store.Get(Key(2)));
  CHECK(store.Get(Key(1)));
}

TEST_CASE("a second put under one key replaces the first in the memory tier") {
  MemoryStore store(100'000);
  store.Put(Key(1), Numbered(1, 10'000));
  const ArtifactPtr second = Numbered(2, 1000);
  store.Put(Key(1), second);
  CHECK(store.Get(Key(1)) == second);
  CHECK(store.size().entries == 1);
  CHECK(store.size().bytes < 5000);
}

TEST_CASE("a removed entry of the memory tier takes no room") {
  MemoryStore store(100'000);
  store.Put(Key(1), Numbered(1, 10'000));
  store.Remove(Key(1));
  store.Remove(Key(2));
  CHECK_FALSE(store.Get(Key(1)));
  CHECK(store.size().bytes == 0);
}

TEST_CASE("the memory tier does not count Holds as a use") {
  MemoryStore store(25'000);
  store.Put(Key(0), Numbered(0, 10'000));
  store.Put(Key(1), Numbered(1, 10'000));
  CHECK(store.Holds(Key(0)));
  store.Put(Key(2), Numbered(2, 10'000));
  CHECK_FALSE(store.Holds(Key(0)));
}

TEST_CASE("the memory tier drops entries unused since a time") {
  std::chrono::sys_seconds now{std::chrono::seconds(1000)};
  MemoryStore store(1 << 20, {}, [&] { return now; });
  for (int i = 0; i < 600; ++i) store.Put(Key(i), Numbered(i, 10));
  now += std::chrono::seconds(10);
  REQUIRE(store.Get(Key(7)));
  CHECK(store.LastUse(Key(7)) == now);
  CHECK(store.LastUse(Key(8)) == now - std::chrono::seconds(10));
  CHECK_FALSE(store.LastUse(Key(1000)));
  size_t removed = 0;
  const auto count = [&](const Digest& key, uint64_t bytes) {
    CHECK_FALSE(store.Holds(key));
    CHECK(bytes > 0);
    ++removed;
  };
  store.RemoveUnusedSince(now - std::chrono::seconds(10), count);
  CHECK(store.size().entries == 600);
  store.RemoveUnusedSince(now, count);
  CHECK(store.size().entries == 1);
  CHECK(removed == 599);
  CHECK(store.Holds(Key(7)));
}

TEST_CASE("the memory tier reports uses of an entry once an hour, whatever the clock") {
  std::chrono::sys_seconds now{std::chrono::hours(1000)};
  int told = 0;
  MemoryStore store(
      100'000, [&](const cccl_cache::Digest&) { ++told; }, [&] { return now; });
  store.Put(Key(0), Numbered(0, 1000));
  const auto use = [&](std::chrono::minutes later) {
    now += later;
    REQUIRE(store.Get(Key(0)));
    return told;
  };
  CHECK(use(std::chrono::minutes(59)) == 0);
  CHECK(use(std::chrono::minutes(1)) == 1);
  CHECK(use(std::chrono::minutes(59)) == 1);
  CHECK(use(std::chrono::minutes(-600)) == 2);
  CHECK(use(std::chrono::minutes(30)) == 2);
}

TEST_CASE("the memory tier serves many threads") {
  MemoryStore store(200'000);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        const int number = (i * 7 + t) % 64;
        if (const ArtifactPtr found = store.Get(Key(number))) {
          if (found->log != "log of " + std::to_string(number)) ++wrong;
        } else {
          store.Put(Key(number), Numbered(number, 5000));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(store.size().bytes <= 200'000);
}

}  // namespace
}  // namespace cccl_cache::daemon::memory_store_test
