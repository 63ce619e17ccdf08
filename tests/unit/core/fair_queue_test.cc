// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/coordinator/fair_queue.h"

#include <sys/resource.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "tests/support/wait_until.h"

namespace cccl_cache::daemon::fair_queue_test {
namespace {

// Records the order in which items start. Each item runs until End(item) or Release().
class Recorder {
 public:
  void Run(uint64_t item) {
    std::unique_lock lock(mutex_);
    order_.push_back(item);
    changed_.notify_all();
    changed_.wait(lock, [&] { return released_ || item == ended_; });
  }
  void End(uint64_t item) {
    std::lock_guard lock(mutex_);
    ended_ = item;
    changed_.notify_all();
  }
  void Release() {
    std::lock_guard lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }
  std::vector<uint64_t> Wait(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(60), [&] { return order_.size() >= count; });
    return order_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<uint64_t> order_;
  std::optional<uint64_t> ended_;
  bool released_ = false;
};

constexpr auto kInteractive = BuildPriority::kInteractive;
constexpr auto kNormal = BuildPriority::kNormal;
constexpr auto kWarmUp = BuildPriority::kWarmUp;

struct Line {
  explicit Line(size_t per_uid = 100, size_t total = 100)
      : queue({.slots = 1,
               .per_uid = per_uid,
               .total = total,
               .relief_slots = 0,
               .turns_of_others = 3},
              [this](uint64_t item, const auto&) { recorder.Run(item); }) {
    CHECK(queue.Add(1000, Account(0)).ok());
    recorder.Wait(1);
  }
  ~Line() { recorder.Release(); }
  Recorder recorder;
  FairQueue queue;
};

TEST_CASE("users take turns whatever the length of their queues") {
  Line line;
  for (uint64_t item : {1, 2, 3}) CHECK(line.queue.Add(item, Account(7)).ok());
  CHECK(line.queue.Add(10, Account(8)).ok());
  line.recorder.Release();
  const auto order = line.recorder.Wait(5);
  CHECK(order == std::vector<uint64_t>{1000, 1, 10, 2, 3});
}

TEST_CASE("Describe lists running and waiting items of all accounts, or of one") {
  Line line;
  for (uint64_t item : {1, 2}) CHECK(line.queue.Add(item, Account(7)).ok());
  CHECK(line.queue.Add(2, Account(8)).ok());
  BuildActivity all;
  line.queue.Describe(std::nullopt, &all);
  CHECK(all.slots == 1);
  CHECK(all.running == 1);
  CHECK(all.queued == 2);
  REQUIRE(all.accounts.size() == 3);
  CHECK(all.accounts[0].running == 1);
  CHECK(all.accounts[1].queued == 2);
  CHECK(all.accounts[2].queued == 1);
  BuildActivity one;
  line.queue.Describe(Account(8), &one);
  REQUIRE(one.accounts.size() == 1);
  CHECK(one.accounts[0].account == Account(8));
  CHECK(one.queued == 2);  // a total
}

TEST_CASE("an item of two users runs once, at its better place in their queues") {
  Line line;
  for (uint64_t item : {1, 2, 3}) CHECK(line.queue.Add(item, Account(7)).ok());
  CHECK(line.queue.Add(3, Account(8)).ok());
  line.recorder.Release();
  CHECK(line.recorder.Wait(4) == std::vector<uint64_t>{1000, 1, 3, 2});
  CHECK(line.queue.waiting() == 0);
}

TEST_CASE("an account without a running item gets a relief slot if others hold all slots") {
  Recorder recorder;
  FairQueue queue({.slots = 1, .relief_slots = 1, .relief_after = std::chrono::milliseconds(1)},
                  [&](uint64_t item, const auto&) { recorder.Run(item); });
  for (uint64_t item : {1, 2, 3}) CHECK(queue.Add(item, Account(7)).ok());
  CHECK(recorder.Wait(1) == std::vector<uint64_t>{1});
  CHECK(queue.Add(10, Account(8)).ok());
  CHECK(queue.Add(11, Account(8)).ok());
  CHECK(recorder.Wait(2) == std::vector<uint64_t>{1, 10});
  CHECK(queue.running() == 2);
  CHECK(queue.waiting() == 3);  // both users have a running item
  recorder.Release();
  CHECK(recorder.Wait(5).size() == 5);
}

TEST_CASE("a user's interactive items go first and warm-ups last, each in order of arrival") {
  Line line;
  uint64_t item = 0;
  for (const auto priority : {kWarmUp, kNormal, kInteractive, kWarmUp, kNormal, kInteractive}) {
    CHECK(line.queue.Add(++item, Account(7), priority).ok());
  }
  line.recorder.Release();
  CHECK(line.recorder.Wait(7) == std::vector<uint64_t>{1000, 3, 6, 2, 5, 1, 4});
}

TEST_CASE("a user's interactive items precede only other items of that user") {
  Line line;
  for (uint64_t item : {1, 2}) CHECK(line.queue.Add(item, Account(7)).ok());
  for (uint64_t item : {10, 11}) CHECK(line.queue.Add(item, Account(8), kInteractive).ok());
  line.recorder.Release();
  CHECK(line.recorder.Wait(5) == std::vector<uint64_t>{1000, 1, 10, 2, 11});
}

TEST_CASE("a user with only warm-ups gets a turn when no other items wait") {
  Line line;
  for (uint64_t item : {1, 2}) CHECK(line.queue.Add(item, Account(7), kWarmUp).ok());
  CHECK(line.queue.Add(10, Account(8), kWarmUp).ok());
  for (uint64_t item : {11, 12}) CHECK(line.queue.Add(item, Account(8)).ok());
  line.recorder.Release();
  CHECK(line.recorder.Wait(6) == std::vector<uint64_t>{1000, 11, 12, 1, 10, 2});
}

TEST_CASE("at most `per_uid` later items of the next priority overtake an item") {
  Line line(3);
  for (const auto& [item, priority] : {std::pair(1, kWarmUp), {2, kNormal}, {3, kInteractive}}) {
    CHECK(line.queue.Add(item, Account(7), priority).ok());
  }
  std::vector<uint64_t> order = {1000};
  for (const auto& [ended, added] :
       {std::pair<uint64_t, uint64_t>{1000, 4}, {3, 5}, {4, 6}, {2, 7}, {5, 8}}) {
    line.recorder.End(ended);
    order = line.recorder.Wait(order.size() + 1);
    CHECK(line.queue.Add(added, Account(7), kInteractive).ok());
  }
  line.recorder.Release();
  CHECK(line.recorder.Wait(9) == std::vector<uint64_t>{1000, 3, 4, 2, 5, 6, 1, 7, 8});
}

TEST_CASE("an interactive item precedes its user's other items even if turns are rare") {
  Line line;
  for (uint64_t item : {1, 2}) CHECK(line.queue.Add(item, Account(7)).ok());
  for (uint64_t user = 20; user < 30; ++user) CHECK(line.queue.Add(user, Account(user)).ok());
  CHECK(line.queue.Add(3, Account(7), kInteractive).ok());
  line.recorder.Release();
  const std::vector<uint64_t> order = line.recorder.Wait(14);
  CHECK(order[1] == 3);
  CHECK(order[12] == 1);
}

TEST_CASE("a user's warm-ups get one turn after `turns_of_others` turns of other users") {
  Line line;
  for (uint64_t item : {1, 2}) CHECK(line.queue.Add(item, Account(7), kWarmUp).ok());
  for (uint64_t item = 10; item < 18; ++item) CHECK(line.queue.Add(item, Account(8)).ok());
  line.recorder.Release();
  CHECK(line.recorder.Wait(11) ==
        std::vector<uint64_t>{1000, 10, 11, 12, 1, 13, 14, 15, 2, 16, 17});
}

TEST_CASE("a waiting item rises when its user adds it again with a higher priority") {
  Line line;
  for (uint64_t item : {1, 2, 3}) CHECK(line.queue.Add(item, Account(7), kWarmUp).ok());
  CHECK(line.queue.Add(4, Account(7)).ok());
  CHECK(line.queue.Add(2, Account(7), kInteractive).ok());
  CHECK(line.queue.Add(3, Account(7), kNormal).ok());
  CHECK(line.queue.Add(4, Account(7), kWarmUp).ok());
  CHECK(line.queue.waiting() == 4);
  line.recorder.Release();
  CHECK(line.recorder.Wait(5) == std::vector<uint64_t>{1000, 2, 3, 4, 1});
}

TEST_CASE("an item has its own priority in each user's queue") {
  Line line;
  CHECK(line.queue.Add(1, Account(7), kWarmUp).ok());
  for (uint64_t item : {2, 3}) CHECK(line.queue.Add(item, Account(7)).ok());
  CHECK(line.queue.Add(10, Account(8)).ok());
  CHECK(line.queue.Add(1, Account(8), kInteractive).ok());
  line.recorder.Release();
  CHECK(line.recorder.Wait(5) == std::vector<uint64_t>{1000, 2, 1, 3, 10});
}

TEST_CASE("a warm-up gets no relief slot") {
  Recorder recorder;
  FairQueue queue({.slots = 1, .relief_slots = 1, .relief_after = std::chrono::milliseconds(1)},
                  [&](uint64_t item, const auto&) { recorder.Run(item); });
  CHECK(queue.Add(1, Account(7)).ok());
  CHECK(recorder.Wait(1) == std::vector<uint64_t>{1});
  CHECK(queue.Add(10, Account(8), kWarmUp).ok());
  CHECK(queue.Add(20, Account(9)).ok());
  CHECK(recorder.Wait(2) == std::vector<uint64_t>{1, 20});
  recorder.Release();
  CHECK(recorder.Wait(3).back() == 10);
}

TEST_CASE("an added item wakes only one slot's thread") {
  constexpr size_t kItems = 200;
  const auto sleeps = [] {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
  };
  Recorder recorder;
  recorder.Release();
  FairQueue queue({.slots = 64, .relief_slots = 4},
                  [&](uint64_t item, const auto&) { recorder.Run(item); });
  REQUIRE(queue.Add(0, Account(7)).ok());
  recorder.Wait(1);
  const long before = sleeps();
  for (size_t item = 1; item <= kItems; ++item) {
    REQUIRE(queue.Add(item, Account(7)).ok());
    recorder.Wait(item + 1);
  }
  // Each item wakes its slot's thread, the thread that added it, and the thread for relief slots,
  // some of them twice.
  CHECK(sleeps() - before < static_cast<long>(kItems) * 16);
}

TEST_CASE("root gets a relief slot even if other users hold as many as they may") {
  Recorder recorder;
  FairQueue queue({.slots = 1, .relief_slots = 4, .relief_after = std::chrono::milliseconds(1)},
                  [&](uint64_t item, const auto&) { recorder.Run(item); });
  for (uint64_t uid = 1; uid <= 6; ++uid) {
    CHECK(queue.Add(uid, Account(static_cast<uid_t>(uid))).ok());
  }
  CHECK(recorder.Wait(4).size() == 4);  // one slot, and three of four relief slots
  CHECK(queue.Add(100, Account(0)).ok());
  CHECK(recorder.Wait(5).back() == 100);
  CHECK(queue.waiting() == 2);
  recorder.Release();
  CHECK(recorder.Wait(7).size() == 7);
}

Account Container(uid_t number, const Account::Way& way = {}) {
  return {kFirstContainerUser + number, way};
}

TEST_CASE("containers get at most every other turn while a user of the node waits") {
  Line line;
  for (uid_t i : {1, 2, 3, 4}) CHECK(line.queue.Add(i, Container(i)).ok());
  for (uint64_t item : {10, 11, 12}) CHECK(line.queue.Add(item, Account(7)).ok());
  line.recorder.Release();
  CHECK(line.recorder.Wait(8) == std::vector<uint64_t>{1000, 1, 10, 2, 11, 3, 12, 4});
}

TEST_CASE("a container has no more turns than each user of the node") {
  Line line;
  for (uint64_t item : {1, 2}) CHECK(line.queue.Add(item, Container(1)).ok());
  for (uint64_t item : {10, 11}) CHECK(line.queue.Add(item, Account(7)).ok());
  for (uint64_t item : {20, 21}) CHECK(line.queue.Add(item, Account(8)).ok());
  line.recorder.Release();
  CHECK(line.recorder.Wait(7) == std::vector<uint64_t>{1000, 1, 10, 20, 2, 11, 21});
}

TEST_CASE("containers that hold half of the slots get no more while a user of the node waits") {
  Recorder recorder;
  FairQueue queue({.slots = 4, .relief_slots = 0},
                  [&](uint64_t item, const auto&) { recorder.Run(item); });
  for (uid_t i : {1, 2}) CHECK(queue.Add(i, Container(i)).ok());
  recorder.Wait(2);
  for (uint64_t item : {10, 11}) CHECK(queue.Add(item, Account(7)).ok());
  recorder.Wait(4);
  CHECK(queue.Add(3, Container(3)).ok());
  CHECK(queue.Add(12, Account(7)).ok());
  recorder.End(10);
  CHECK(recorder.Wait(5).back() == 12);
  recorder.End(1);
  CHECK(recorder.Wait(6).back() == 3);
  recorder.Release();
}

TEST_CASE("control groups below one group share its turns") {
  Line line;
  uint64_t item = 0;
  for (uid_t i : {1, 2, 3}) CHECK(line.queue.Add(++item, Container(i, {50, 51, i})).ok());
  for (uid_t i : {4, 4, 4}) CHECK(line.queue.Add(++item, Container(i, {50, 52})).ok());
  for (uid_t i : {5, 6}) CHECK(line.queue.Add(++item, Container(i, {60, i})).ok());
  line.recorder.Release();
  CHECK(line.recorder.Wait(9) == std::vector<uint64_t>{1000, 4, 7, 1, 8, 5, 2, 6, 3});
}

TEST_CASE("containers have at most half of the relief slots") {
  Recorder recorder;
  FairQueue queue({.slots = 1, .relief_slots = 4, .relief_after = std::chrono::milliseconds(1)},
                  [&](uint64_t item, const auto&) { recorder.Run(item); });
  for (uint64_t i = 1; i <= 6; ++i) {
    CHECK(queue.Add(i, Account(kFirstContainerUser + static_cast<uid_t>(i))).ok());
  }
  CHECK(recorder.Wait(3).size() == 3);  // one slot, and two of four relief slots
  CHECK(queue.Add(100, Account(7)).ok());
  CHECK(recorder.Wait(4).back() == 100);
  recorder.Release();
  CHECK(recorder.Wait(7).size() == 7);
}

// Items from 100 on wait for their requester while they run, until End(item) or Release().
struct Waiters {
  explicit Waiters(size_t slots, size_t relief_slots = 0)
      : queue({.slots = slots,
               .relief_slots = relief_slots,
               .relief_after = std::chrono::milliseconds(1),
               .parked_per_account = 2,
               .parked = 8,
               .park_after = std::chrono::milliseconds(1)},
              [this](uint64_t item, const FairQueue::Slot& slot) {
                const auto waits = item < 100 ? nullptr : slot.waits;
                if (waits != nullptr) waits->Begin(this);
                recorder.Run(item);
                if (waits != nullptr) waits->End(this);
              }) {}
  ~Waiters() { recorder.Release(); }
  Recorder recorder;
  FairQueue queue;
};

TEST_CASE("items that wait for their requesters leave their slots to others") {
  Waiters waiters(1);
  for (const uid_t uid : {1, 2, 3, 4}) CHECK(waiters.queue.Add(100 + uid, Account(uid)).ok());
  CHECK(waiters.recorder.Wait(4).size() == 4);
  CHECK(waiters.queue.Add(9, Account(9)).ok());
  CHECK(waiters.recorder.Wait(5).back() == 9);
  CHECK(waiters.queue.running() == 5);
}

TEST_CASE("items that wait for their requesters leave relief slots to others too") {
  Waiters waiters(1, 1);
  CHECK(waiters.queue.Add(1, Account(1)).ok());
  waiters.recorder.Wait(1);
  for (const uid_t uid : {2, 3, 4}) CHECK(waiters.queue.Add(100 + uid, Account(uid)).ok());
  CHECK(waiters.recorder.Wait(4).size() == 4);
  CHECK(waiters.queue.Add(9, Account(9)).ok());
  CHECK(waiters.recorder.Wait(5).back() == 9);
}

TEST_CASE("an account at its limit of parked items leaves the last free slot to others") {
  Waiters waiters(2);
  for (uint64_t item = 100; item < 106; ++item) CHECK(waiters.queue.Add(item, Account(7)).ok());
  CHECK(waiters.recorder.Wait(3).size() == 3);
  CHECK(waiters.queue.Add(9, Account(9)).ok());
  CHECK(waiters.recorder.Wait(4).back() == 9);
  CHECK(waiters.queue.waiting() == 3);
  waiters.recorder.Release();
  CHECK(waiters.recorder.Wait(7).size() == 7);
}

TEST_CASE("containers have at most half of the parked items") {
  Waiters waiters(1);
  for (uid_t i = 1; i <= 6; ++i) CHECK(waiters.queue.Add(100 + i, Container(i)).ok());
  CHECK(waiters.recorder.Wait(5).size() == 5);  // four are parked, one holds the slot
  CHECK(waiters.queue.waiting() == 1);
  waiters.recorder.Release();
  CHECK(waiters.recorder.Wait(6).size() == 6);
}

TEST_CASE("a parked item that continues takes the next free slot") {
  Recorder recorder;
  std::atomic<FairQueue::Waits*> waits = nullptr;
  FairQueue queue({.slots = 1, .relief_slots = 0, .park_after = std::chrono::milliseconds(1)},
                  [&](uint64_t item, const FairQueue::Slot& slot) {
                    const auto mine = slot.waits;
                    if (item == 1) mine->Begin(&recorder);
                    if (item == 1) waits = mine.get();
                    recorder.Run(item);
                  });
  CHECK(queue.Add(1, Account(1)).ok());
  CHECK(queue.Add(2, Account(2)).ok());
  CHECK(recorder.Wait(2) == std::vector<uint64_t>{1, 2});
  waits.load()->End(&recorder);
  CHECK(queue.Add(3, Account(3)).ok());
  recorder.End(2);
  CHECK(WaitUntil([&] { return queue.running() == 1; }));
  CHECK(queue.waiting() == 1);
  // Item 1 has waited longer than `park_after`, so each further wait frees its slot at once.
  waits.load()->Begin(&recorder);
  CHECK(recorder.Wait(3).back() == 3);
  recorder.Release();
}

TEST_CASE("short waits of an item free its slot once their sum exceeds `park_after`") {
  std::atomic<bool> other_ran = false;
  std::atomic<bool> ran_beside = false;
  FairQueue queue({.slots = 1, .relief_slots = 0, .park_after = std::chrono::milliseconds(100)},
                  [&](uint64_t item, const FairQueue::Slot& slot) {
                    if (item == 2) {
                      other_ran = true;
                      return;
                    }
                    const auto waits = slot.waits;
                    for (int answers = 0; answers < 20'000 && !other_ran; ++answers) {
                      waits->Begin(&queue);
                      std::this_thread::sleep_for(std::chrono::milliseconds(1));
                      waits->End(&queue);
                    }
                    ran_beside = other_ran.load();
                  });
  CHECK(queue.Add(1, Account(1)).ok());
  CHECK(queue.Add(2, Account(2)).ok());
  CHECK(WaitUntil([&] { return queue.running() + queue.waiting() == 0; }));
  CHECK(ran_beside);
}

// Items from 100 on wait for their requester until they must give way, or until Release().
struct Holders {
  explicit Holders(std::chrono::milliseconds give_way_after, size_t relief_slots = 1)
      : queue({.slots = 1,
               .relief_slots = relief_slots,
               .relief_after = std::chrono::milliseconds(1),
               .parked_per_account = 0,
               .park_after = std::chrono::milliseconds(1),
               .give_way_after = give_way_after},
              [this](uint64_t item, const FairQueue::Slot& slot) {
                if (item < 100) return recorder.Run(item);
                const auto waits = slot.waits;
                const auto since = FairQueue::Clock::now();
                waits->Begin(this);
                const std::stop_callback given_way(waits->gives_way(), [&] {
                  waited = FairQueue::Clock::now() - since;
                  last = item;
                  ++gave_way;
                  recorder.End(item);
                });
                recorder.Run(item);
                waits->End(this);
              }) {}
  ~Holders() { recorder.Release(); }
  Recorder recorder;
  std::atomic<int> gave_way = 0;
  uint64_t last = 0;
  FairQueue::Clock::duration waited{0};
  FairQueue queue;
};

TEST_CASE("an item that waited long for its requester gives way to an account without a slot") {
  constexpr std::chrono::milliseconds kLong{20};
  Holders holders(kLong);
  for (const uid_t uid : {1, 2}) CHECK(holders.queue.Add(100 + uid, Account(uid)).ok());
  CHECK(holders.recorder.Wait(2).size() == 2);  // the slot and the relief slot
  CHECK(holders.queue.Add(9, Account(9)).ok());
  CHECK(holders.recorder.Wait(3).back() == 9);
  CHECK(holders.gave_way == 1);
  CHECK(holders.waited >= kLong);
}

TEST_CASE("items of users of the node do not give way to containers") {
  Holders holders(std::chrono::milliseconds(1));
  CHECK(holders.queue.Add(101, Account(1)).ok());
  CHECK(holders.recorder.Wait(1).size() == 1);
  CHECK(holders.queue.Add(102, Container(2)).ok());
  CHECK(holders.recorder.Wait(2).size() == 2);
  CHECK(holders.queue.Add(9, Container(3)).ok());
  CHECK(holders.recorder.Wait(3).back() == 9);
  CHECK(holders.gave_way == 1);
  CHECK(holders.last == 102);
}

TEST_CASE("at most one item gives way for each node user without a slot") {
  Holders holders(std::chrono::milliseconds(1), /*relief_slots=*/2);
  size_t running = 0;
  for (const auto& [item, account] :
       {std::pair<uint64_t, Account>{101, Account(1)}, {102, Account(2)}, {3, Container(3)}}) {
    CHECK(holders.queue.Add(item, account).ok());
    holders.recorder.Wait(++running);
  }
  CHECK(holders.queue.Add(4, Container(4)).ok());  // this account lacks a slot too
  CHECK(holders.queue.Add(9, Account(9)).ok());
  CHECK(holders.recorder.Wait(4).back() == 9);
  CHECK(holders.gave_way == 1);
}

TEST_CASE("an item that waits for its requester keeps its slot while no account lacks one") {
  Holders holders(std::chrono::milliseconds(1));
  CHECK(holders.queue.Add(101, Account(1)).ok());
  CHECK(holders.recorder.Wait(1).size() == 1);
  CHECK(holders.queue.Add(102, Account(1)).ok());  // this account has a running item
  CHECK(holders.queue.Add(9, Account(9)).ok());
  CHECK(holders.recorder.Wait(2).back() == 9);
  CHECK(holders.queue.waiting() == 1);
  CHECK(holders.gave_way == 0);
}

TEST_CASE("an item that is added again while it runs has a slot of its own") {
  std::vector<std::shared_ptr<FairQueue::Waits>> slots;
  std::mutex mutex;
  Recorder recorder;
  FairQueue queue({.slots = 2}, [&](uint64_t item, const FairQueue::Slot& slot) {
    {
      const std::lock_guard lock(mutex);
      slots.push_back(slot.waits);
    }
    recorder.Run(item);
  });
  CHECK(queue.Add(1, Account(7)).ok());
  CHECK(recorder.Wait(1).size() == 1);
  CHECK(queue.Add(1, Account(8)).ok());
  CHECK(recorder.Wait(2).size() == 2);
  CHECK(slots.front() != slots.back());
  recorder.Release();
}

TEST_CASE("a wait that outlives its item changes nothing") {
  std::shared_ptr<FairQueue::Waits> waits;
  {
    Recorder recorder;
    recorder.Release();
    FairQueue queue({.slots = 1}, [&](uint64_t item, const FairQueue::Slot& slot) {
      waits = slot.waits;
      waits->Begin(&recorder);
      recorder.Run(item);
    });
    for (uint64_t item : {1, 2, 3}) CHECK(queue.Add(item, Account(7)).ok());
    CHECK(recorder.Wait(3).size() == 3);
  }
  waits->End(&waits);
  waits->Begin(&waits);
}

TEST_CASE("a user leaves room in the queue for others, and all leave some for root") {
  Line line(100, 16);
  uint64_t item = 0;
  for (const uid_t uid : {7, 8, 9, 10, 11}) {
    while (line.queue.Add(++item, Account(uid)).ok()) continue;
  }
  CHECK(line.queue.waiting() == 15);
  CHECK(line.queue.Add(1, Account(0)).ok());
  CHECK(line.queue.Add(500, Account(0)).ok());
}

TEST_CASE("an item that was removed does not run") {
  Line line;
  CHECK(line.queue.Add(1, Account(7)).ok());
  CHECK(line.queue.Add(2, Account(7)).ok());
  CHECK(line.queue.Remove(1));
  CHECK_FALSE(line.queue.Remove(1));
  line.recorder.Release();
  CHECK(line.recorder.Wait(2) == std::vector<uint64_t>{1000, 2});
}

TEST_CASE("Add of a waiting item for a second user succeeds even if that queue is full") {
  Line line(1, 10);
  CHECK(line.queue.Add(1, Account(7)).ok());
  CHECK(line.queue.Add(2, Account(8)).ok());
  CHECK(line.queue.Add(1, Account(8)).ok());
  line.recorder.Release();
  CHECK(line.recorder.Wait(3) == std::vector<uint64_t>{1000, 1, 2});
}

TEST_CASE("a full queue refuses only its user, until the total limit is reached") {
  Line line(2, 3);
  CHECK(line.queue.Add(1, Account(7)).ok());
  CHECK(line.queue.Add(2, Account(7)).ok());
  CHECK(line.queue.Add(2, Account(7)).ok());
  CHECK(line.queue.Add(3, Account(7)).error().code == ErrorCode::kOverloaded);
  const Error refused = line.queue.Add(3, Account(7)).error();
  CHECK(refused.message.find("queue_limit_per_uid") != std::string::npos);
  // The message does not repeat `retry_after`, because clients add it.
  CHECK(refused.retry_after.count() > 0);
  CHECK(refused.message.find("come back") == std::string::npos);
  CHECK(line.queue.Add(4, Account(8)).ok());
  CHECK(line.queue.Add(5, Account(9)).error().code == ErrorCode::kOverloaded);
}

}  // namespace
}  // namespace cccl_cache::daemon::fair_queue_test
