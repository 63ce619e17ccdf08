// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <string>

#include "daemon/core/lookup/eviction_log.h"

namespace cccl_cache::daemon {
namespace {

cccl_cache::Digest Key(int number) { return cccl_cache::Sha256(std::to_string(number)); }

TEST_CASE("a departure is known with its cause and time until too many came after it") {
  Departures departures(2);
  CHECK_FALSE(departures.Find(Key(1)));
  const auto before = std::chrono::system_clock::now();
  departures.Note(Key(1), DepartureCause::kEvicted);
  const auto found = departures.Find(Key(1));
  REQUIRE(found);
  CHECK(found->cause == DepartureCause::kEvicted);
  CHECK(found->time >= before);
  departures.Note(Key(2), DepartureCause::kEvicted);
  departures.Note(Key(3), DepartureCause::kEvicted);
  CHECK_FALSE(departures.Find(Key(1)));
  CHECK(departures.Find(Key(2)));
}

TEST_CASE("many evictions push out no corrupt entry") {
  Departures departures(2);
  departures.Note(Key(0), DepartureCause::kCorrupt);
  for (int i = 1; i < 100; ++i) departures.Note(Key(i), DepartureCause::kEvicted);
  const auto found = departures.Find(Key(0));
  REQUIRE(found);
  CHECK(found->cause == DepartureCause::kCorrupt);
}

TEST_CASE("what departs again counts from then on") {
  Departures departures(2);
  departures.Note(Key(1), DepartureCause::kEvicted);
  departures.Note(Key(1), DepartureCause::kEvicted);
  departures.Note(Key(2), DepartureCause::kEvicted);
  CHECK(departures.Find(Key(1)));
  departures.Note(Key(2), DepartureCause::kShadowCheck);
  CHECK(departures.Find(Key(2))->cause == DepartureCause::kShadowCheck);
}

TEST_CASE("what was serialised is known after a restart, with cause and time") {
  Departures before;
  before.Note(Key(1), DepartureCause::kEvicted);
  before.Note(Key(2), DepartureCause::kCorrupt);
  before.Note(Key(3), DepartureCause::kShadowCheck);
  before.Note(Key(1), DepartureCause::kCorrupt);
  Departures after;
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

TEST_CASE("what is serialised is bounded for each cause, and the last ones stay") {
  Departures before;
  constexpr int kMost = static_cast<int>(Departures::kSerialisedPerCause);
  before.Note(Key(0), DepartureCause::kCorrupt);
  for (int i = 1; i <= kMost + 1; ++i) before.Note(Key(i), DepartureCause::kEvicted);
  Departures after;
  after.Restore(before.Serialize());
  CHECK(after.Find(Key(0)));
  CHECK_FALSE(after.Find(Key(1)));
  CHECK(after.Find(Key(2)));
  CHECK(after.Find(Key(kMost + 1)));
}

TEST_CASE("what this run noted is not overwritten by what an earlier one did") {
  Departures before;
  before.Note(Key(1), DepartureCause::kEvicted);
  Departures after;
  after.Note(Key(1), DepartureCause::kCorrupt);
  after.Restore(before.Serialize());
  CHECK(after.Find(Key(1))->cause == DepartureCause::kCorrupt);
}

TEST_CASE("of bytes that are no serialised departures nothing is taken") {
  Departures before;
  before.Note(Key(1), DepartureCause::kEvicted);
  const std::string good = before.Serialize();
  std::string cause = good + good;
  cause[good.size()] = static_cast<char>(DepartureCause::kCount);
  std::string time = good + good;
  time[good.size() + 8] = '\x7f';
  for (const std::string& bytes : {good.substr(1), good + "x", cause, time}) {
    Departures after;
    after.Restore(bytes);
    CHECK(after.noted() == 0);
  }
}

}  // namespace
}  // namespace cccl_cache::daemon
