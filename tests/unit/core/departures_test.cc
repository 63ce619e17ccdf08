// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/departures.h"

#include <catch2/catch.hpp>
#include <string>

namespace cccl_cached {
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

}  // namespace
}  // namespace cccl_cached
