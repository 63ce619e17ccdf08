// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/model/hourly_counts.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <map>

namespace cccl_cache::daemon::hourly_counts_test {
namespace {

std::chrono::system_clock::time_point Hour(int hour) {
  return std::chrono::system_clock::time_point(std::chrono::hours(hour));
}

/// Returns the hits in memory of each hour.
std::map<uint64_t, uint64_t> HitsOf(const HourlyCounts& hours) {
  static_assert(kHourlyCounters[0] == Counter::kHitsMemory);
  std::map<uint64_t, uint64_t> hits;
  for (const HourlyCount& row : hours.Take()) hits[row.hour] = row.counts[0];
  return hits;
}

using Hits = std::map<uint64_t, uint64_t>;

TEST_CASE("growth counts in its hour, and restored totals count in none") {
  Statistics statistics;
  statistics.Add(Counter::kHitsMemory, 100);
  HourlyCounts hours;
  hours.Note(Hour(7), statistics);
  CHECK(HitsOf(hours).empty());
  statistics.Add(Counter::kHitsMemory, 2);
  hours.Note(Hour(7), statistics);
  statistics.Add(Counter::kHitsMemory);
  hours.Note(Hour(7), statistics);
  hours.Note(Hour(8), statistics);
  statistics.Add(Counter::kHitsMemory, 5);
  hours.Note(Hour(9), statistics);
  CHECK(HitsOf(hours) == Hits{{7, 3}, {9, 5}});
}

TEST_CASE("after totals were set to zero, hours count what came since") {
  Statistics statistics;
  HourlyCounts hours;
  hours.Note(Hour(7), statistics);
  statistics.Add(Counter::kHitsMemory, 100);
  hours.Note(Hour(7), statistics);
  statistics.Clear();
  hours.Clear();
  statistics.Add(Counter::kHitsMemory, 3);
  hours.Note(Hour(7), statistics);
  CHECK(HitsOf(hours) == Hits{{7, 3}});
}

TEST_CASE("the last 48 hours are kept, also over a restart") {
  Statistics statistics;
  HourlyCounts before;
  before.Note(Hour(0), statistics);
  for (int hour = 0; hour < 100; ++hour) {
    statistics.Add(Counter::kHitsMemory);
    before.Note(Hour(hour), statistics);
  }
  HourlyCounts after;
  after.Restore(before.Serialize());
  const Hits hits = HitsOf(after);
  CHECK(hits.size() == HourlyCounts::kMaxHours);
  CHECK(hits.begin()->first == 52);
  CHECK(hits == HitsOf(before));
}

TEST_CASE("hours that a wrong clock made are dropped once the clock is right") {
  Statistics statistics;
  HourlyCounts hours;
  for (const int hour : {7, 7, 5000, 8}) {
    hours.Note(Hour(hour), statistics);
    statistics.Add(Counter::kHitsMemory);
  }
  CHECK(HitsOf(hours) == Hits{{7, 1}, {8, 1}});
}

TEST_CASE("text that is no list of hours restores nothing, and unknown names are ignored") {
  HourlyCounts hours;
  hours.Restore("x\n-1 hits_total{memory}=1\n\n 7\nhits_total{memory}=1");
  CHECK(hours.Take().empty());
  hours.Restore("7 new_total{}=5 hits_total{memory}=3 hits_total{disk}=x =\n");
  CHECK(HitsOf(hours) == Hits{{7, 3}});
}

}  // namespace
}  // namespace cccl_cache::daemon::hourly_counts_test
