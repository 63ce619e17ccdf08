// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/lease/lease_table.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/core/model/limits.h"

namespace cccl_cache::daemon::lease_table_test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using Time = LeaseTable::Time;

constexpr milliseconds kPatience{1000};
constexpr milliseconds kMax{2500};

cccl_cache::Digest Key(const std::string& name) { return cccl_cache::Sha256(name); }

DepositFound Found(const std::string& bytes) {
  return {std::make_shared<const std::string>(bytes)};
}

/// A table whose clock stands still until the test moves it.
struct Scene {
  explicit Scene(milliseconds longest_lease = kMax) : longest(longest_lease) {}

  const milliseconds longest;
  Time now{};
  int sooner = 0;
  LeaseTable table{{.first_fence = 7,
                    .patience = kPatience,
                    .longest = longest,
                    .now = [this] { return now; },
                    .sooner = [this] { ++sooner; }}};
};

/// One caller with all its answers, as text.
struct Caller {
  Caller(Scene& in, const std::string& key, const LeaseTable::Wait& wait = {})
      : scene(in), waiter(in.table.NewSeat()) {
    scene.table.Enter(waiter, Key(key), wait, [this](const LeaseNews& news) {
      if (const auto* grant = std::get_if<LeaseGrant>(&news)) {
        fence = grant->fence;
        told += "lease ";
      } else if (const auto* found = std::get_if<DepositFound>(&news)) {
        told += "found " + *found->contents + " ";
      } else if (std::holds_alternative<LeaseLost>(news)) {
        told += "lost ";
      } else if (std::holds_alternative<LeaseReleased>(news)) {
        told += "released ";
      } else {
        told += std::string(Name(std::get<Error>(news).code)) + " ";
      }
    });
  }
  void Publish(const std::string& bytes) {
    REQUIRE(scene.table.StartPublishing(waiter, fence));
    scene.table.Publish(waiter, Found(bytes));
  }

  Scene& scene;
  const LeaseTable::WaiterId waiter;
  std::string told;
  uint64_t fence = 0;
};

TEST_CASE("the first caller gets the lease, and the others get the deposit that it publishes") {
  Scene scene;
  Caller holder(scene, "a");
  Caller second(scene, "a");
  Caller third(scene, "a");
  CHECK(holder.told == "lease ");
  CHECK(second.told.empty());
  holder.Publish("bytes");
  CHECK(second.told == "found bytes ");
  CHECK(third.told == "found bytes ");
  CHECK(holder.told == "lease ");
  CHECK(scene.table.gauges().held == 0);
  CHECK(scene.table.gauges().waiting == 0);
}

TEST_CASE("a holder loses the lease after `longest` while others wait, even with heartbeats") {
  Scene scene;
  Caller holder(scene, "a");
  Caller next(scene, "a");
  while (scene.now < Time{} + kMax) {
    REQUIRE(scene.table.Beat(holder.waiter));
    static_cast<void>(scene.table.Pass());
    REQUIRE(holder.told == "lease ");
    scene.now += kPatience / 2;
  }
  static_cast<void>(scene.table.Pass());
  CHECK(holder.told == "lease lost ");
  CHECK(next.told == "lease ");
  CHECK_FALSE(scene.table.Beat(holder.waiter));
}

TEST_CASE("by default a holder with heartbeats may take 20 minutes while others wait") {
  Scene scene(DepositLimits{}.longest_lease);
  Caller holder(scene, "a");
  Caller next(scene, "a");
  for (; scene.now < Time{} + std::chrono::minutes(20); scene.now += kPatience / 2) {
    REQUIRE(scene.table.Beat(holder.waiter));
    static_cast<void>(scene.table.Pass());
  }
  CHECK(holder.told == "lease ");
  holder.Publish("bytes");
  CHECK(next.told == "found bytes ");
}

TEST_CASE("a lease with heartbeats has no time limit until another caller waits") {
  Scene scene;
  Caller holder(scene, "a");
  for (; scene.now < Time{} + 3 * kMax; scene.now += kPatience / 2) {
    REQUIRE(scene.table.Beat(holder.waiter));
    static_cast<void>(scene.table.Pass());
  }
  CHECK(holder.told == "lease ");
  const int before = scene.sooner;
  Caller next(scene, "a");
  CHECK(scene.sooner > before);
  static_cast<void>(scene.table.Pass());
  CHECK(holder.told == "lease lost ");
  CHECK(next.told == "lease ");
}

TEST_CASE("a heartbeat during a publication does not end the publication") {
  Scene scene;
  Caller holder(scene, "a");
  Caller next(scene, "a");
  REQUIRE(scene.table.StartPublishing(holder.waiter, holder.fence));
  CHECK(scene.table.Beat(holder.waiter));
  scene.now += 2 * kMax;
  static_cast<void>(scene.table.Pass());
  scene.table.Publish(holder.waiter, Found("bytes"));
  CHECK(next.told == "found bytes ");
}

TEST_CASE("List shows a lease with its callers, and to one uid only that uid's callers") {
  Scene scene;
  const auto enter = [&scene](uid_t uid) {
    scene.table.Enter(scene.table.NewSeat(), Sha256("a"), {.uid = uid, .name_space = "n"},
                      [](const auto&) {});
  };
  enter(7);
  scene.now += std::chrono::seconds(1);
  enter(8);
  enter(8);
  scene.now += std::chrono::seconds(2);
  size_t more = 0;
  const auto all = scene.table.List(std::nullopt, &more);
  REQUIRE(all.size() == 1);
  CHECK(all[0].state == FlightState::kLeased);
  CHECK(all[0].kind == "n");
  CHECK(all[0].waiters == 3);
  CHECK(all[0].uid == 7);
  CHECK(all[0].age == std::chrono::seconds(3));
  CHECK(all[0].running == std::chrono::seconds(3));
  const auto own = scene.table.List(uid_t{8}, &more);
  REQUIRE(own.size() == 1);
  CHECK(own[0].waiters == 2);
  CHECK(own[0].uid == 8);
  CHECK(own[0].age == std::chrono::seconds(2));
  CHECK(own[0].running == std::chrono::seconds(2));
  CHECK(scene.table.List(uid_t{9}, &more).empty());
  CHECK(more == 0);
}

TEST_CASE("callers of different keys do not wait for each other") {
  Scene scene;
  Caller a(scene, "a");
  Caller b(scene, "b");
  CHECK(a.told == "lease ");
  CHECK(b.told == "lease ");
}

TEST_CASE("when the holder leaves, the next waiter in order of arrival gets the lease") {
  Scene scene;
  Caller first(scene, "a");
  Caller second(scene, "a");
  Caller third(scene, "a");
  scene.table.Leave(first.waiter);
  CHECK(second.told == "lease ");
  CHECK(third.told.empty());
  scene.table.Leave(second.waiter);
  CHECK(third.told == "lease ");
  scene.table.Leave(third.waiter);
  CHECK(scene.table.gauges().held == 0);
  CHECK(Caller(scene, "a").told == "lease ");
}

TEST_CASE("each lease has a greater number than every lease before") {
  Scene scene;
  Caller first(scene, "a");
  Caller other(scene, "b");
  Caller second(scene, "a");
  scene.table.Leave(first.waiter);
  CHECK(first.fence == 7);
  CHECK(other.fence == 8);
  CHECK(second.fence == 9);
}

TEST_CASE("a holder without heartbeats loses the lease to the next waiter") {
  Scene scene;
  Caller silent(scene, "a");
  Caller next(scene, "a");
  scene.now += kPatience - milliseconds(1);
  scene.table.Pass();
  CHECK(silent.told == "lease ");
  scene.now += milliseconds(1);
  scene.table.Pass();
  CHECK(silent.told == "lease lost ");
  CHECK(next.told == "lease ");
}

TEST_CASE("a heartbeat keeps the lease") {
  Scene scene;
  Caller holder(scene, "a");
  for (int i = 0; i < 10; ++i) {
    scene.now += kPatience - milliseconds(1);
    CHECK(scene.table.Beat(holder.waiter));
    scene.table.Pass();
  }
  CHECK(holder.told == "lease ");
}

TEST_CASE("SuspendTimeout lets a holder be silent, but at most for `longest` while others wait") {
  Scene scene;
  Caller holder(scene, "a");
  scene.table.SuspendTimeout(holder.waiter);
  CHECK_FALSE(scene.table.Pass());
  scene.now += kPatience;
  Caller next(scene, "a");
  scene.table.Pass();
  CHECK(holder.told == "lease ");
  SECTION("the holder's next heartbeat ends the suspension") {
    const int before = scene.sooner;
    CHECK(scene.table.Beat(holder.waiter));
    CHECK(scene.sooner > before);
    scene.now += kPatience;
    scene.table.Pass();
  }
  SECTION("the limit while others wait still applies") {
    scene.now += kMax - kPatience;
    scene.table.Pass();
  }
  CHECK(holder.told == "lease lost ");
  CHECK(next.told == "lease ");
}

TEST_CASE("Fail releases all waiters that accept a release at once, and remembers nothing") {
  Scene scene;
  Caller holder(scene, "a");
  Caller first(scene, "a", {.accepts_release = true});
  Caller second(scene, "a", {.until = scene.now + milliseconds(10), .accepts_release = true});
  scene.table.Fail(holder.waiter);
  CHECK(first.told == "released ");
  CHECK(second.told == "released ");
  CHECK(holder.told == "lease ");
  CHECK(scene.table.gauges().held == 0);
  CHECK(scene.table.gauges().waiting == 0);
  scene.now += milliseconds(10);
  scene.table.Pass();
  CHECK(second.told == "released ");
  CHECK(Caller(scene, "a").told == "lease ");
}

TEST_CASE("after Fail the first waiter that does not accept a release gets the lease") {
  Scene scene;
  Caller holder(scene, "a");
  Caller knows(scene, "a", {.accepts_release = true});
  Caller old(scene, "a");
  Caller older(scene, "a");
  scene.table.Fail(holder.waiter);
  CHECK(knows.told == "released ");
  CHECK(old.told == "lease ");
  CHECK(older.told.empty());
}

TEST_CASE("a caller that only waits is released at once if the key has no holder") {
  Scene scene;
  const Caller watcher(scene, "a", {.waits_only = true});
  CHECK(watcher.told == "released ");
  CHECK(scene.table.gauges().held + scene.table.gauges().waiting == 0);
  CHECK(Caller(scene, "a").told == "lease ");
}

TEST_CASE("a caller that only waits gets the deposit of the holder, or of the next one") {
  Scene scene;
  const Caller holder(scene, "a");
  const Caller watcher(scene, "a", {.waits_only = true});
  Caller next(scene, "a");
  CHECK(watcher.told.empty());
  scene.table.Leave(holder.waiter);
  CHECK(watcher.told.empty());
  next.Publish("bytes");
  CHECK(watcher.told == "found bytes ");
  CHECK(scene.table.gauges().waiting == 0);
}

TEST_CASE("a caller that only waits is released when the last holder leaves, fails or is silent") {
  Scene scene;
  const Caller leaves(scene, "a");
  const Caller first(scene, "a", {.waits_only = true});
  scene.table.Leave(leaves.waiter);
  CHECK(first.told == "released ");
  const Caller fails(scene, "a");
  const Caller second(scene, "a", {.waits_only = true});
  scene.table.Fail(fails.waiter);
  CHECK(second.told == "released ");
  const Caller silent(scene, "a");
  const Caller third(scene, "a", {.waits_only = true});
  scene.now += kPatience;
  static_cast<void>(scene.table.Pass());
  CHECK(third.told == "released ");
  CHECK(Caller(scene, "a").told == "lease ");
}

TEST_CASE("a caller that only waits ends no lease, and waits until its own timeout") {
  Scene scene;
  Caller holder(scene, "a");
  const Caller watcher(scene, "a", {.until = Time{} + 2 * kMax, .waits_only = true});
  const Caller leaver(scene, "a", {.waits_only = true});
  scene.table.Leave(leaver.waiter);
  for (; scene.now < Time{} + 3 * kMax; scene.now += kPatience / 2) {
    REQUIRE(scene.table.Beat(holder.waiter));
    static_cast<void>(scene.table.Pass());
  }
  CHECK(watcher.told == "timed-out ");
  holder.Publish("bytes");
  CHECK(leaver.told.empty());
}

TEST_CASE("Fail has no effect for a waiter, or for a holder that publishes") {
  Scene scene;
  Caller holder(scene, "a");
  Caller waits(scene, "a", {.accepts_release = true});
  scene.table.Fail(waits.waiter);
  CHECK(waits.told.empty());
  REQUIRE(scene.table.StartPublishing(holder.waiter, holder.fence));
  scene.table.Fail(holder.waiter);
  CHECK(waits.told.empty());
  scene.table.Publish(holder.waiter, Found("bytes"));
  CHECK(waits.told == "found bytes ");
}

TEST_CASE("a postponed holder may be silent until the timeout of its own wait") {
  Scene scene;
  Caller holder(scene, "a", {.until = scene.now + 2 * kPatience});
  scene.table.Postpone(holder.waiter);
  Caller next(scene, "a");
  scene.now += 2 * kPatience - milliseconds(1);
  scene.table.Pass();
  CHECK(holder.told == "lease ");
  SECTION("at its timeout the next waiter gets the lease") {
    scene.now += milliseconds(1);
    scene.table.Pass();
    CHECK(holder.told == "lease timed-out ");
    CHECK(next.told == "lease ");
  }
  SECTION("a heartbeat ends the postponement") {
    CHECK(scene.table.Beat(holder.waiter));
    scene.now += milliseconds(1);
    scene.table.Pass();
    CHECK(holder.told == "lease ");
  }
  SECTION("the holder gets the error of Stop") {
    scene.table.Stop({ErrorCode::kUnavailable, "stopping"});
    CHECK(holder.told == "lease unavailable ");
  }
}

TEST_CASE("a postponed holder delays others no longer than any other holder") {
  Scene scene;
  Caller holder(scene, "a");
  scene.table.Postpone(holder.waiter);
  CHECK_FALSE(scene.table.Pass());
  Caller next(scene, "a");
  scene.now += kMax;
  scene.table.Pass();
  CHECK(holder.told == "lease timed-out ");
  CHECK(next.told == "lease ");
}

TEST_CASE("a postponed holder has the full time from its next heartbeat") {
  Scene scene;
  Caller holder(scene, "a");
  scene.table.Postpone(holder.waiter);
  scene.now += kMax + milliseconds(1);
  CHECK(scene.table.Beat(holder.waiter));
  Caller next(scene, "a");
  scene.table.Pass();
  CHECK(holder.told == "lease ");
  CHECK(next.told.empty());
}

TEST_CASE("fenced: a caller that lost the lease can neither publish nor renew it") {
  Scene scene;
  Caller late(scene, "a");
  Caller next(scene, "a");
  scene.now += kPatience;
  scene.table.Pass();
  CHECK_FALSE(scene.table.Beat(late.waiter));
  CHECK_FALSE(scene.table.StartPublishing(late.waiter, late.fence));
  CHECK_FALSE(scene.table.StartPublishing(late.waiter, next.fence));
  next.Publish("new");
}

TEST_CASE("fenced: another lease's number is refused") {
  Scene scene;
  Caller holder(scene, "a");
  CHECK_FALSE(scene.table.StartPublishing(holder.waiter, holder.fence + 1));
  Caller waits(scene, "a");
  CHECK_FALSE(scene.table.StartPublishing(waits.waiter, holder.fence));
  holder.Publish("bytes");
}

TEST_CASE("a publication tells for how long the lease was held, without the wait for another one") {
  Scene scene;
  const Caller holder(scene, "a");
  scene.now += milliseconds(300);
  CHECK(scene.table.StartPublishing(holder.waiter, holder.fence) == milliseconds(300));
  const Caller postponed(scene, "b");
  scene.table.Postpone(postponed.waiter);
  scene.now += milliseconds(500);
  REQUIRE(scene.table.Beat(postponed.waiter));
  scene.now += milliseconds(200);
  CHECK(scene.table.StartPublishing(postponed.waiter, postponed.fence) == milliseconds(200));
}

TEST_CASE("a lease is not lost during its publication") {
  Scene scene;
  Caller holder(scene, "a");
  Caller waits(scene, "a");
  REQUIRE(scene.table.StartPublishing(holder.waiter, holder.fence));
  scene.now += 10 * kPatience;
  scene.table.Pass();
  scene.table.Leave(holder.waiter);
  CHECK(waits.told.empty());
  scene.table.Publish(holder.waiter, Found("bytes"));
  CHECK(waits.told == "found bytes ");
}

TEST_CASE("each caller waits at most until its own timeout") {
  Scene scene;
  Caller holder(scene, "a");
  Caller hurried(scene, "a", {scene.now + milliseconds(10)});
  Caller patient(scene, "a", {scene.now + milliseconds(500)});
  Caller endless(scene, "a");
  scene.now += milliseconds(10);
  scene.table.Pass();
  CHECK(hurried.told == "timed-out ");
  CHECK(patient.told.empty());
  holder.Publish("bytes");
  CHECK(patient.told == "found bytes ");
  CHECK(endless.told == "found bytes ");
  scene.now += kPatience;
  scene.table.Pass();
  CHECK(patient.told == "found bytes ");
}

TEST_CASE("the timeout of a wait no longer applies once the caller has the lease") {
  Scene scene;
  Caller first(scene, "a");
  Caller second(scene, "a", {scene.now + milliseconds(10)});
  scene.table.Leave(first.waiter);
  scene.now += milliseconds(20);
  scene.table.Pass();
  CHECK(second.told == "lease ");
}

TEST_CASE("a waiting caller that leaves does not affect others") {
  Scene scene;
  Caller holder(scene, "a");
  Caller leaves(scene, "a", {scene.now + milliseconds(10)});
  Caller stays(scene, "a");
  scene.table.Leave(leaves.waiter);
  scene.now += milliseconds(10);
  scene.table.Pass();
  holder.Publish("bytes");
  CHECK(leaves.told.empty());
  CHECK(stays.told == "found bytes ");
  scene.table.Leave(leaves.waiter);  // the second call does nothing
}

TEST_CASE("a thousand callers wait, and each is answered once") {
  Scene scene;
  Caller holder(scene, "a");
  std::vector<std::unique_ptr<Caller>> callers;
  for (int i = 0; i < 1000; ++i) callers.push_back(std::make_unique<Caller>(scene, "a"));
  CHECK(scene.table.gauges().waiting == 1000);
  for (int i = 0; i < 1000; i += 2) scene.table.Leave(callers[static_cast<size_t>(i)]->waiter);
  CHECK(scene.table.gauges().waiting == 500);
  holder.Publish("x");
  for (size_t i = 0; i < callers.size(); ++i) {
    CHECK(callers[i]->told == (i % 2 == 0 ? "" : "found x "));
  }
}

TEST_CASE("Pass returns the next timeout, and `sooner` reports an earlier one") {
  Scene scene;
  CHECK_FALSE(scene.table.Pass());
  Caller holder(scene, "a");
  CHECK(scene.sooner == 1);
  CHECK(scene.table.Pass() == scene.now + kPatience);
  Caller later(scene, "b");
  CHECK(scene.sooner == 1);
  Caller waits(scene, "a", {scene.now + milliseconds(5)});
  CHECK(scene.sooner == 2);
  CHECK(scene.table.Pass() == scene.now + milliseconds(5));
}

TEST_CASE("Stop answers present and later callers") {
  Scene scene;
  Caller holder(scene, "a");
  Caller waits(scene, "a");
  scene.table.Stop({ErrorCode::kUnavailable, "stopping"});
  CHECK(holder.told == "lease lost ");
  CHECK(waits.told == "unavailable ");
  CHECK(Caller(scene, "a").told == "unavailable ");
  CHECK_FALSE(scene.table.StartPublishing(holder.waiter, holder.fence));
}

TEST_CASE("a caller may leave the table in its callback") {
  Scene scene;
  Caller holder(scene, "a");
  const auto waiter = scene.table.NewSeat();
  std::string told;
  scene.table.Enter(waiter, Key("a"), {}, [&](const LeaseNews& news) {
    told += std::holds_alternative<LeaseGrant>(news) ? "lease " : "other ";
    scene.table.Leave(waiter);
  });
  Caller last(scene, "a");
  scene.table.Leave(holder.waiter);
  CHECK(told == "lease ");
  CHECK(last.told == "lease ");
}

TEST_CASE("many threads take turns at one lease") {
  LeaseTable table({});
  int turns = 0;  // guarded by the lease
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 200; ++turn) {
        std::atomic<uint64_t> fence = 0;
        const auto waiter = table.NewSeat();
        table.Enter(waiter, Key("a"), {}, [&](const LeaseNews& news) {
          fence = std::get<LeaseGrant>(news).fence;
          fence.notify_one();
        });
        fence.wait(0);
        ++turns;
        table.Leave(waiter);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(turns == 1600);
  CHECK(table.gauges().held == 0);
}

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLeaseClockPatience{60};  // only spent by a failing test

const cccl_cache::Digest kKey = cccl_cache::Sha256("key");

/// A table and the clock that it wakes.
struct LeaseClockScene {
  explicit LeaseClockScene(milliseconds patience)
      : table({.patience = patience, .longest = hours(2), .sooner = [this] { clock->Wake(); }}) {
    clock.emplace(table);
  }

  /// Enters a caller. Returns its first answer that is not a grant.
  std::future<LeaseNews> Enter(std::optional<LeaseTable::Time> until = std::nullopt) {
    auto told = std::make_shared<std::promise<LeaseNews>>();
    table.Enter(table.NewSeat(), kKey, {until}, [told](LeaseNews news) {
      if (!std::holds_alternative<LeaseGrant>(news)) told->set_value(std::move(news));
    });
    return told->get_future();
  }

  LeaseTable table;
  std::optional<LeaseClock> clock;
};

template <typename News>
bool IsTold(std::future<LeaseNews> told) {
  if (told.wait_for(kLeaseClockPatience) != std::future_status::ready) return false;
  return std::holds_alternative<News>(told.get());
}

TEST_CASE("a new timeout wakes a LeaseClock that had none") {
  LeaseClockScene scene(milliseconds(1));
  CHECK(IsTold<LeaseLost>(scene.Enter()));
}

TEST_CASE("an earlier timeout wakes a LeaseClock") {
  LeaseClockScene scene(hours(1));
  const auto holder = scene.Enter();
  CHECK(IsTold<Error>(scene.Enter(SteadyClock::now() + milliseconds(1))));
}

TEST_CASE("a LeaseClock handles timeouts that are due one after another") {
  LeaseClockScene scene(milliseconds(1));
  auto first = scene.Enter();
  auto second = scene.Enter();
  auto third = scene.Enter();
  CHECK(IsTold<LeaseLost>(std::move(first)));
  CHECK(IsTold<LeaseLost>(std::move(second)));
  CHECK(IsTold<LeaseLost>(std::move(third)));
}

TEST_CASE("a Wake call during a round of a LeaseClock is not lost") {
  std::atomic<LeaseClock*> clock = nullptr;
  std::atomic<int> rounds = 0;
  std::promise<void> looked_again;
  LeaseTable table({.now = [&] {
    // The clock is in a round, and nothing is due after it.
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
  CHECK(looked_again.get_future().wait_for(kLeaseClockPatience) == std::future_status::ready);
}

TEST_CASE("a sleeping LeaseClock ends at once, even if a timeout is due later") {
  LeaseTable table({.patience = hours(1)});
  const bool due = GENERATE(false, true);
  if (due) table.Enter(table.NewSeat(), kKey, {}, [](const LeaseNews&) {});
  const LeaseClock clock(table);
}

}  // namespace
}  // namespace cccl_cache::daemon::lease_table_test
