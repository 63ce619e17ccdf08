// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "daemon/core/lease/lease_table.h"

namespace cccl_cache::daemon {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{60};  // only ever spent by a test that fails

const cccl_cache::Digest kKey = cccl_cache::Sha256("key");

/// A table and the clock that it wakes.
struct Scene {
  explicit Scene(milliseconds patience)
      : table({.patience = patience, .longest = hours(2), .sooner = [this] { clock->Wake(); }}) {
    clock.emplace(table);
  }

  /// What a caller is told after it was granted the lease or had to wait.
  std::future<LeaseNews> Enter(std::optional<LeaseTable::Time> until = std::nullopt) {
    auto told = std::make_shared<std::promise<LeaseNews>>();
    table.Enter(table.NewSeat(), kKey, until, [told](LeaseNews news) {
      if (!std::holds_alternative<LeaseGrant>(news)) told->set_value(std::move(news));
    });
    return told->get_future();
  }

  LeaseTable table;
  std::optional<LeaseClock> clock;
};

template <typename News>
bool IsTold(std::future<LeaseNews> told) {
  if (told.wait_for(kPatience) != std::future_status::ready) return false;
  return std::holds_alternative<News>(told.get());
}

TEST_CASE("a clock that sleeps because nothing is due is woken by what becomes due") {
  Scene scene(milliseconds(1));
  CHECK(IsTold<LeaseLost>(scene.Enter()));
}

TEST_CASE("a clock that sleeps until something is due is woken by what is due earlier") {
  Scene scene(hours(1));
  const auto holder = scene.Enter();
  CHECK(IsTold<Error>(scene.Enter(SteadyClock::now() + milliseconds(1))));
}

TEST_CASE("what becomes due one after another is told, each in its turn") {
  Scene scene(milliseconds(1));
  auto first = scene.Enter();
  auto second = scene.Enter();
  auto third = scene.Enter();
  CHECK(IsTold<LeaseLost>(std::move(first)));
  CHECK(IsTold<LeaseLost>(std::move(second)));
  CHECK(IsTold<LeaseLost>(std::move(third)));
}

TEST_CASE("who wakes a clock that is awake is not forgotten") {
  std::atomic<LeaseClock*> clock = nullptr;
  std::atomic<int> rounds = 0;
  std::promise<void> looked_again;
  LeaseTable table({.now = [&] {
    // The clock is in the midst of a round, and nothing is due after it.
    if (LeaseClock* const awake = clock.load(); awake != nullptr) {
      const int round = ++rounds;
      if (round == 1) awake->Wake();
      if (round == 2) looked_again.set_value();
    }
    return SteadyClock::now();
  }});
  LeaseClock awake(table);
  clock = &awake;
  awake.Wake();
  CHECK(looked_again.get_future().wait_for(kPatience) == std::future_status::ready);
}

TEST_CASE("a clock ends while it sleeps, whatever is due later") {
  LeaseTable table({.patience = hours(1)});
  const bool due = GENERATE(false, true);
  if (due) table.Enter(table.NewSeat(), kKey, std::nullopt, [](const LeaseNews&) {});
  const LeaseClock clock(table);
}

}  // namespace
}  // namespace cccl_cache::daemon
