// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/model/statistics.h"

#include <catch2/catch.hpp>
#include <set>

namespace cccl_cache::daemon::statistics_test {
namespace {

TEST_CASE("totals are restored from their text") {
  Statistics before;
  before.Add(Counter::kHitsMemory, 3);
  before.Add(Counter::kHitsDisk, 4);
  before.Add(Counter::kCompileMicroseconds, 1'500'000);
  Statistics after;
  after.Add(Counter::kHitsDisk);
  after.Restore(before.Serialize());
  CHECK(after.Get(Counter::kHitsMemory) == 3);
  CHECK(after.Get(Counter::kHitsDisk) == 5);
  CHECK(after.Get(Counter::kCompileMicroseconds) == 1'500'000);
}

TEST_CASE("Restore ignores an invalid text") {
  Statistics statistics;
  statistics.Restore("builds_total{} 12x\nbuilds_total{} -1\n\n\nnonsense\nbuilds_total{} ");
  CHECK(statistics.Get(Counter::kBuilds) == 0);
}

TEST_CASE("every counter is listed once under a unique name") {
  std::set<std::pair<std::string_view, std::string_view>> names;
  std::set<Counter> counters;
  for (const CounterInfo& info : Counters()) {
    names.insert({info.name, info.label});
    counters.insert(info.counter);
    CHECK_FALSE(info.help.empty());
  }
  CHECK(names.size() == static_cast<size_t>(Counter::kCount));
  CHECK(counters.size() == static_cast<size_t>(Counter::kCount));
}

}  // namespace
}  // namespace cccl_cache::daemon::statistics_test
