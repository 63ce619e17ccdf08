// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/system/blocking_pool.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "tests/support/no_more_threads.h"
#include "tests/support/wait_until.h"
#include "tests/unit/core/fakes.h"
#include "tests/unit/core/stall.h"

namespace cccl_cache::daemon::blocking_pool_test {
namespace {

using testing::kPatience;

void NeverLate() { FAIL("the look took longer than its time"); }

/// A disk that hangs until Answer(). Its looks may outlive it.
class HangingDisk {
 public:
  [[nodiscard]] BlockingPool::Look Look(
      std::function<void()> then = [] {}, std::function<void()> late = NeverLate) const {
    return {[answer = answer_] { answer.wait(); }, std::move(then), std::move(late)};
  }
  void Answer() { promise_.set_value(); }

 private:
  std::promise<void> promise_;
  std::shared_future<void> answer_ = promise_.get_future().share();
};

TEST_CASE("a look's `then` is called after the look") {
  std::promise<int> done;
  BlockingPool checks({});
  int looked = 0;
  REQUIRE(
      checks.Add(Account(1), {[&] { looked = 7; }, [&] { done.set_value(looked); }, NeverLate}));
  std::future<int> result = done.get_future();
  REQUIRE(result.wait_for(kPatience) == std::future_status::ready);
  CHECK(result.get() == 7);
}

TEST_CASE("a hung look delays no other user") {
  HangingDisk disk;
  BlockingPool checks({.threads_per_uid = 2, .waiting_per_uid = 1, .threads = 16});
  REQUIRE(checks.Add(Account(1), disk.Look()));
  REQUIRE(checks.Add(Account(1), disk.Look()));
  std::promise<void> done;
  REQUIRE(checks.Add(Account(2), {[] {}, [&] { done.set_value(); }, NeverLate}));
  CHECK(done.get_future().wait_for(kPatience) == std::future_status::ready);
  disk.Answer();
}

TEST_CASE("a user with too many waiting looks gets a retry time") {
  HangingDisk disk;
  BlockingPool checks({.threads_per_uid = 1, .waiting_per_uid = 2, .threads = 16});
  std::optional<Error> refused;
  // The first look may be running, or still waiting.
  for (int i = 0; i < 4 && !refused; ++i) {
    const Status added = checks.Add(Account(1), disk.Look());
    if (!added) refused = added.error();
  }
  REQUIRE(refused);
  CHECK(refused->code == ErrorCode::kOverloaded);
  CHECK(refused->retry_after.count() > 0);
  CHECK(refused->message.find("come back") == std::string::npos);
  disk.Answer();
}

TEST_CASE("Add fails while other users have all threads") {
  HangingDisk disk;
  BlockingPool checks({.threads_per_uid = 1, .waiting_per_uid = 2, .threads = 1});
  REQUIRE(checks.Add(Account(1), disk.Look()));
  CHECK_FALSE(checks.Add(Account(2), disk.Look()));
  disk.Answer();
}

TEST_CASE("if no thread can start, only a user without one gets a retry time") {
  HangingDisk disk;
  BlockingPool checks({.threads_per_uid = 2, .waiting_per_uid = 2, .threads = 16});
  std::promise<void> done;
  REQUIRE(checks.Add(Account(1), disk.Look()));
  {
    const NoMoreThreads none;
    const Status refused = checks.Add(Account(2), disk.Look());
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::kOverloaded);
    CHECK_THAT(refused.error().message, Catch::Contains("can't start a thread"));
    // The user's running thread serves this look later.
    REQUIRE(checks.Add(Account(1), {[] {}, [&] { done.set_value(); }, NeverLate}));
  }
  disk.Answer();
  CHECK(done.get_future().wait_for(kPatience) == std::future_status::ready);
  std::promise<void> later;
  REQUIRE(checks.Add(Account(2), {[] {}, [&] { later.set_value(); }, NeverLate}));
  CHECK(later.get_future().wait_for(kPatience) == std::future_status::ready);
}

TEST_CASE("an idle thread serves any user's next look, and counts toward no limit") {
  BlockingPool checks({.threads_per_uid = 1, .threads = 1, .idle_time = kPatience});
  std::promise<std::thread::id> first;
  REQUIRE(checks.Add(Account(1),
                     {[] {}, [&] { first.set_value(std::this_thread::get_id()); }, NeverLate}));
  const std::thread::id thread = first.get_future().get();
  const NoMoreThreads none;
  std::promise<std::thread::id> second;
  const auto add = [&] {
    return checks.Add(Account(2),
                      {[] {}, [&] { second.set_value(std::this_thread::get_id()); }, NeverLate});
  };
  // The thread is busy for a moment after `then`.
  REQUIRE(WaitUntil([&] { return add().ok(); }));
  CHECK(second.get_future().get() == thread);
}

/// Counts the ended threads that had called Note().
class EndedThreads {
 public:
  void Note() {
    thread_local AtEnd at_end;
    at_end.count = count_;
  }
  [[nodiscard]] bool Wait(int threads) const {
    return WaitUntil([&] { return *count_ >= threads; });
  }
  [[nodiscard]] int count() const { return *count_; }

 private:
  using Count = std::shared_ptr<std::atomic<int>>;
  struct AtEnd {
    ~AtEnd() { ++*count; }
    Count count;
  };
  const Count count_ = std::make_shared<std::atomic<int>>(0);
};

TEST_CASE("idle threads end with the pool, which does not wait for them") {
  EndedThreads ended;
  std::optional<BlockingPool> checks;
  checks.emplace(BlockingPool::Bounds{.idle_time = std::chrono::hours(1)});
  std::promise<void> done;
  REQUIRE(checks->Add(Account(1), {[&] { ended.Note(); }, [&] { done.set_value(); }, NeverLate}));
  done.get_future().wait();
  for (int i = 0; i < 1000; ++i)
    std::this_thread::yield();  // by now the thread is most likely idle
  checks.reset();
  CHECK(ended.Wait(1));
}

TEST_CASE("an idle thread ends after its timeout") {
  EndedThreads ended;
  BlockingPool checks({.idle_time = std::chrono::milliseconds(1)});
  REQUIRE(checks.Add(Account(1), {[&] { ended.Note(); }, [] {}, NeverLate}));
  CHECK(ended.Wait(1));
}

TEST_CASE("only a few of many idle threads wait for more work") {
  constexpr int kThreads = 7;
  constexpr int kIdle = 4;
  EndedThreads ended;
  testing::Stall stall;
  BlockingPool checks({.threads_per_uid = kThreads,
                       .idle_time = std::chrono::hours(1),
                       .close_awaits_looks = true});
  for (int i = 0; i < kThreads; ++i) {
    REQUIRE(checks.Add(Account(1), {[&] {
                                      ended.Note();
                                      stall.Enter();
                                    },
                                    [] {}, NeverLate}));
  }
  REQUIRE(stall.WaitUntilEntered(kThreads));
  stall.End();
  CHECK(ended.Wait(kThreads - kIdle));
  CHECK(ended.count() == kThreads - kIdle);
}

TEST_CASE("a late look calls `late`, and not `then` when it ends") {
  HangingDisk disk;
  std::promise<void> late;
  const auto followed = std::make_shared<std::promise<void>>();
  BlockingPool checks({.threads_per_uid = 1, .time = std::chrono::milliseconds(1)});
  REQUIRE(checks.Add(
      Account(1), disk.Look([followed] { followed->set_value(); }, [&late] { late.set_value(); })));
  CHECK(late.get_future().wait_for(kPatience) == std::future_status::ready);
  disk.Answer();
  CHECK(followed->get_future().wait_for(std::chrono::milliseconds(50)) ==
        std::future_status::timeout);
}

TEST_CASE("a look and its callbacks are destroyed after the call of `then`") {
  BlockingPool checks({});
  const auto held = std::make_shared<int>(7);
  REQUIRE(checks.Add(Account(1), {[held] {}, [held] {}, [held] { NeverLate(); }}));
  CHECK(WaitUntil([&] { return held.use_count() == 1; }));
}

TEST_CASE("the callbacks of a hung look are destroyed with the pool") {
  HangingDisk disk;
  const auto held = std::make_shared<int>(7);
  {
    BlockingPool checks({});
    REQUIRE(checks.Add(Account(1), disk.Look([held] {}, [held] { NeverLate(); })));
  }
  CHECK(held.use_count() == 1);
  disk.Answer();
}

TEST_CASE("a hung look does not delay the pool's end, and never calls `then`") {
  HangingDisk disk;
  const auto followed = std::make_shared<std::promise<void>>();
  {
    BlockingPool checks({});
    REQUIRE(checks.Add(Account(1), disk.Look([followed] { followed->set_value(); })));
  }
  disk.Answer();
  CHECK(followed->get_future().wait_for(std::chrono::milliseconds(50)) ==
        std::future_status::timeout);
}

/// Waits for the call of a callback.
class Late {
 public:
  [[nodiscard]] std::function<void()> Note() {
    return [this] { late_.set_value(); };
  }
  bool Wait() { return late_.get_future().wait_for(kPatience) == std::future_status::ready; }

 private:
  std::promise<void> late_;
};

TEST_CASE("a look above its time limit is late, and so are the looks behind it") {
  HangingDisk disk;
  Late first;
  Late behind;
  BlockingPool checks({.threads_per_uid = 1, .look_time = std::chrono::milliseconds(1)});
  REQUIRE(checks.Add(Account(1), disk.Look([] {}, first.Note())));
  // Add refuses this look if the first one already counts as hanging.
  const Status added =
      checks.Add(Account(1), {[] {}, [] { FAIL("the look before it hangs"); }, behind.Note()});
  CHECK(first.Wait());
  CHECK((!added.ok() || behind.Wait()));
  CHECK(checks.Add(Account(1), {[] {}, [] {}, NeverLate}).error().code == ErrorCode::kOverloaded);
  disk.Answer();
}

TEST_CASE("a look that hangs is late even if earlier looks were in time") {
  HangingDisk disk;
  Late late;
  BlockingPool checks({.threads_per_uid = 1, .look_time = std::chrono::milliseconds(50)});
  for (int i = 0; i < 3; ++i) {
    std::promise<void> ended;
    const auto end = [&] { ended.set_value(); };
    REQUIRE(checks.Add(Account(1), {[] {}, end, end}));
    ended.get_future().wait();
  }
  REQUIRE(checks.Add(Account(1), disk.Look([] {}, late.Note())));
  CHECK(late.Wait());
  disk.Answer();
}

/// Returns whether a look of this user ends in time. Tries again, because a thread may start late.
bool IsServed(BlockingPool& checks, uid_t uid) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < deadline) {
    std::promise<bool> done;
    const Status added = checks.Add(
        Account(uid), {[] {}, [&] { done.set_value(true); }, [&] { done.set_value(false); }});
    if (added && done.get_future().get()) return true;
  }
  return false;
}

TEST_CASE("a user's looks are refused only while all of its threads hang") {
  HangingDisk disk;
  Late first;
  Late second;
  BlockingPool checks({.threads_per_uid = 2, .look_time = std::chrono::milliseconds(1)});
  REQUIRE(checks.Add(Account(1), disk.Look([] {}, first.Note())));
  REQUIRE(first.Wait());
  CHECK(IsServed(checks, 1));
  REQUIRE(checks.Add(Account(1), disk.Look([] {}, second.Note())));
  REQUIRE(second.Wait());
  CHECK_FALSE(checks.Add(Account(1), {[] {}, [] {}, NeverLate}).ok());
  CHECK(IsServed(checks, 2));
  disk.Answer();
  CHECK(IsServed(checks, 1));
}

TEST_CASE("`after_late` is called at the end of a late look") {
  HangingDisk disk;
  Late late;
  Late ended;
  BlockingPool checks({.threads_per_uid = 1, .look_time = std::chrono::milliseconds(1)});
  BlockingPool::Look look = disk.Look([] { FAIL("it was late"); }, late.Note());
  look.after_late = ended.Note();
  REQUIRE(checks.Add(Account(1), std::move(look)));
  REQUIRE(late.Wait());
  disk.Answer();
  CHECK(ended.Wait());
}

TEST_CASE("`after_late` is destroyed with the pool if it was not called") {
  HangingDisk disk;
  const auto held = std::make_shared<int>(7);
  {
    Late late;
    Late in_time;
    BlockingPool checks({.threads_per_uid = 1, .look_time = std::chrono::milliseconds(1)});
    BlockingPool::Look look = disk.Look([] {}, late.Note());
    look.after_late = [held] { FAIL("the owner is gone"); };
    REQUIRE(checks.Add(Account(1), std::move(look)));
    REQUIRE(late.Wait());
    BlockingPool others({});
    REQUIRE(others.Add(Account(1), {[] {}, in_time.Note(), NeverLate, [held] { NeverLate(); }}));
    REQUIRE(in_time.Wait());
  }
  CHECK(held.use_count() == 1);
  disk.Answer();
}

TEST_CASE("with close_awaits_looks the pool's end waits for running looks") {
  std::promise<void> begun;
  std::atomic<bool> ended{false};
  {
    BlockingPool checks({.close_awaits_looks = true});
    REQUIRE(checks.Add(Account(1), {[&] {
                                      begun.set_value();
                                      for (int i = 0; i < 1000; ++i) std::this_thread::yield();
                                      ended = true;
                                    },
                                    [] {}, NeverLate}));
    begun.get_future().wait();
  }
  CHECK(ended);
}

}  // namespace
}  // namespace cccl_cache::daemon::blocking_pool_test
