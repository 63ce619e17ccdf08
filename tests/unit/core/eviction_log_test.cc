// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/lookup/eviction_log.h"

#include <catch2/catch.hpp>
#include <string>

namespace cccl_cache::daemon::eviction_log_test {
namespace {

cccl_cache::Digest Key(int number) { return cccl_cache::Sha256(std::to_string(number)); }

TEST_CASE("an eviction is known with its cause and time until too many follow") {
  EvictionLog eviction_log(2);
  CHECK_FALSE(eviction_log.Find(Key(1)));
  const auto before = std::chrono::system_clock::now();
  eviction_log.Note(Key(1), EvictionCause::kEvicted);
  const auto found = eviction_log.Find(Key(1));
  REQUIRE(found);
  CHECK(found->cause == EvictionCause::kEvicted);
  CHECK(found->time >= before);
  eviction_log.Note(Key(2), EvictionCause::kEvicted);
  eviction_log.Note(Key(3), EvictionCause::kEvicted);
  CHECK_FALSE(eviction_log.Find(Key(1)));
  CHECK(eviction_log.Find(Key(2)));
}

TEST_CASE("many evictions do not displace records of corrupt entries") {
  EvictionLog eviction_log(2);
  eviction_log.Note(Key(0), EvictionCause::kCorrupt);
  for (int i = 1; i < 100; ++i) eviction_log.Note(Key(i), EvictionCause::kEvicted);
  const auto found = eviction_log.Find(Key(0));
  REQUIRE(found);
  CHECK(found->cause == EvictionCause::kCorrupt);
}

TEST_CASE("a second eviction of an entry replaces the first") {
  EvictionLog eviction_log(2);
  eviction_log.Note(Key(1), EvictionCause::kEvicted);
  eviction_log.Note(Key(1), EvictionCause::kEvicted);
  eviction_log.Note(Key(2), EvictionCause::kEvicted);
  CHECK(eviction_log.Find(Key(1)));
  eviction_log.Note(Key(2), EvictionCause::kShadowCheck);
  CHECK(eviction_log.Find(Key(2))->cause == EvictionCause::kShadowCheck);
}

TEST_CASE("serialised evictions are known after a restart, with cause and time") {
  EvictionLog before;
  before.Note(Key(1), EvictionCause::kEvicted);
  before.Note(Key(2), EvictionCause::kCorrupt);
  before.Note(Key(3), EvictionCause::kShadowCheck);
  before.Note(Key(1), EvictionCause::kCorrupt);
  EvictionLog after;
  after.Restore(before.Serialize());
  CHECK(after.noted() == 3);
  for (const int number : {1, 2, 3}) {
    REQUIRE(after.Find(Key(number)));
    const auto expected = before.Find(Key(number));
    CHECK(after.Find(Key(number))->cause == expected->cause);
    CHECK(after.Find(Key(number))->time ==
          std::chrono::floor<std::chrono::milliseconds>(expected->time));
  }
  CHECK(after.Serialize() == before.Serialize());
}

TEST_CASE("the number of serialised evictions is bounded for each cause, and the last ones stay") {
  EvictionLog before;
  constexpr int kMax = static_cast<int>(EvictionLog::kSerialisedPerCause);
  before.Note(Key(0), EvictionCause::kCorrupt);
  for (int i = 1; i <= kMax + 1; ++i) before.Note(Key(i), EvictionCause::kEvicted);
  EvictionLog after;
  after.Restore(before.Serialize());
  CHECK(after.Find(Key(0)));
  CHECK_FALSE(after.Find(Key(1)));
  CHECK(after.Find(Key(2)));
  CHECK(after.Find(Key(kMax + 1)));
}

TEST_CASE("Restore does not overwrite evictions of this run") {
  EvictionLog before;
  before.Note(Key(1), EvictionCause::kEvicted);
  EvictionLog after;
  after.Note(Key(1), EvictionCause::kCorrupt);
  after.Restore(before.Serialize());
  CHECK(after.Find(Key(1))->cause == EvictionCause::kCorrupt);
}

TEST_CASE("invalid serialised evictions are ignored") {
  EvictionLog before;
  before.Note(Key(1), EvictionCause::kEvicted);
  const std::string good = before.Serialize();
  std::string cause = good + good;
  cause[good.size()] = static_cast<char>(EvictionCause::kCount);
  std::string time = good + good;
  time[good.size() + 8] = '\x7f';
  for (const std::string& bytes : {good.substr(1), good + "x", cause, time}) {
    EvictionLog after;
    after.Restore(bytes);
    CHECK(after.noted() == 0);
  }
}

}  // namespace
}  // namespace cccl_cache::daemon::eviction_log_test
